//! `evaltrail bisect`: the commit from which on cases pass less often, in real repositories with a real program as the agent.

use crate::common::{
    TestWorkspace, adk_or_skip, both, copy_folder, evaltrail, oracle, output, text,
};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Answers with what `answer.txt` says, or fails if `broken` is there. Which attempt it is decides about an unreliable answer.
const AGENT: &str = r#"read line
[ -e broken ] && exit 3
answer=$(cat lib/answer.txt)
if [ "$answer" = sometimes ]; then
  printf . >> "$TMPDIR/attempts"
  count=$(wc -c < "$TMPDIR/attempts")
  if [ $((count % 2)) = 0 ]; then answer=hello; fi
fi
echo "{\"response\": \"$answer\", \"predicted_trajectory\": []}"
"#;

/// A repository with an agent, and the commits that it has so far.
struct Repository {
    folder: TestWorkspace,
    commits: Vec<String>,
}

impl Repository {
    fn new() -> Repository {
        let case = |id: &str| {
            json!({"eval_id": id, "conversation": [{
                "user_content": {"role": "user", "parts": [{"text": "hi"}]},
                "final_response": {"role": "model", "parts": [{"text": "hello"}]},
            }]})
        };
        let set = json!({"eval_set_id": "s", "eval_cases": [case("a"), case("b")]});
        let criteria = json!({"criteria": {"response_match_score": 0.5}});
        let folder = TestWorkspace::new(&[
            ("repo/s.evalset.json", set.to_string()),
            ("repo/test_config.json", criteria.to_string()),
            ("repo/agent.sh", AGENT.into()),
            ("repo/lib/answer.txt", "hello".into()),
            ("repo/.gitignore", ".evaltrail\n".into()),
            ("tmp/.keep", String::new()),
        ]);
        let mut repository = Repository {
            folder,
            commits: Vec::new(),
        };
        repository.git(&["init", "-q", "-b", "main", "."]);
        repository.commit("begin");
        repository
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("repo")
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]);
        let ran = output(git.args(arguments).current_dir(self.root()));
        assert!(ran.status.success(), "git {arguments:?}: {}", both(&ran));
        text(&ran).trim().to_string()
    }

    fn commit(&mut self, subject: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", subject]);
        self.commits.push(self.git(&["rev-parse", "HEAD"]));
    }

    fn write(&mut self, file: &str, content: &str) {
        std::fs::write(self.root().join(file), content).unwrap();
        self.commit(&format!("change {file}"));
    }

    fn bisect(&self, more: &[&str]) -> Output {
        output(&mut self.command(more))
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = evaltrail(&self.folder.path().join("home"));
        command.args(["bisect", "--agent", "cmd:sh agent.sh", "--trust"]);
        command.args(["--good", &self.commits[0]]).args(more);
        command.env("TMPDIR", self.folder.path().join("tmp"));
        command.current_dir(self.root());
        command
    }

    /// The search folders that are left.
    fn left_over(&self) -> usize {
        let folder = self.folder.path().join("home/cache/bisect");
        std::fs::read_dir(folder).map_or(0, Iterator::count)
    }
}

fn answer(ran: &Output) -> Value {
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", both(ran)))
}

/// The content of each file below a folder, with the time of its last change.
fn files(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        // Worktrees are listed there while a search goes on.
        if path.ends_with(".git/worktrees") || path.ends_with(".evaltrail") {
            continue;
        }
        match path.is_dir() {
            true => all.extend(files(&path)),
            false => {
                let changed = path.metadata().unwrap().modified().unwrap();
                all.push((path.clone(), std::fs::read(&path).unwrap(), changed));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn commit_that_broke_cases_is_found() {
    let mut repository = Repository::new();
    for at in 0..6 {
        repository.write("lib/notes.txt", &at.to_string());
    }
    repository.write("lib/answer.txt", "goodbye");
    let change = repository.commits.last().unwrap().clone();
    repository.write(
        "s.evalset.json",
        &std::fs::read_to_string(repository.root().join("s.evalset.json"))
            .unwrap()
            .replace("\"s\"", "\"t\""),
    );
    for at in 6..12 {
        repository.write("lib/notes.txt", &at.to_string());
    }
    std::fs::write(repository.root().join("lib/notes.txt"), "not committed").unwrap();
    let before = files(&repository.root());
    let ran = repository.bisect(&["s.evalset.json", "--json"]);
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    let found = answer(&ran);
    assert_eq!(found["verdict"], "found");
    assert_eq!(found["commits"][0]["commit"], change);
    assert_eq!(found["commits"].as_array().unwrap().len(), 1);
    assert_eq!(
        found["states"].as_array().unwrap().len(),
        14,
        "the edit of the set is none"
    );
    assert_eq!(files(&repository.root()), before);
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(repository.left_over(), 0);
}

#[test]
fn flaky_change_is_found_around_broken_commits() {
    let mut repository = Repository::new();
    for at in 0..3 {
        repository.write("lib/notes.txt", &at.to_string());
    }
    repository.write("broken", "");
    repository.git(&["rm", "-q", "broken"]);
    repository.write("lib/notes.txt", "without it");
    repository.write("lib/answer.txt", "sometimes");
    let change = repository.commits.last().unwrap().clone();
    for at in 3..6 {
        repository.write("lib/notes.txt", &at.to_string());
    }
    let ran = repository.bisect(&["s.evalset.json", "-j", "1"]);
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    let words = text(&ran);
    let named = format!("\n{}  ", &change[..10]);
    assert!(words.contains("the change is, with 9"), "{words}");
    assert!(words.contains(&named), "{words}");
    assert!(words.contains("Ann  change lib/answer.txt\n"), "{words}");
}

#[test]
fn interrupted_search_continues() {
    let mut repository = Repository::new();
    for at in 0..8 {
        repository.write("lib/notes.txt", &at.to_string());
    }
    repository.write("lib/answer.txt", "goodbye");
    let change = repository.commits.last().unwrap().clone();
    let first = repository.bisect(&["s.evalset.json", "--json", "--max-attempts", "7"]);
    assert_eq!(first.status.code(), Some(1), "{}", both(&first));
    assert_eq!(answer(&first)["verdict"], "undecided");
    assert_eq!(repository.left_over(), 1);
    let second = repository.bisect(&["s.evalset.json", "--json"]);
    assert_eq!(second.status.code(), Some(0), "{}", both(&second));
    assert!(
        both(&second).contains("continues a search with 12 attempts"),
        "{}",
        both(&second)
    );
    let found = answer(&second);
    assert_eq!(found["commits"][0]["commit"], change);
    assert_eq!(repository.left_over(), 0);
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn killed_search_continues() {
    let mut repository = Repository::new();
    for at in 0..8 {
        repository.write("lib/notes.txt", &at.to_string());
    }
    repository.write("lib/answer.txt", "goodbye");
    let change = repository.commits.last().unwrap().clone();
    let before = files(&repository.root());
    // At the first, the second, … step, until one search ends.
    for steps in 1.. {
        let mut command = repository.command(&["s.evalset.json", "--json"]);
        let mut search = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(search.stderr.take().unwrap()).lines();
        let steps_made = lines
            .map_while(Result::ok)
            .filter(|line| line.contains(" passed  │"))
            .take(steps)
            .count();
        if steps_made < steps {
            let found: Value = serde_json::from_reader(search.stdout.take().unwrap()).unwrap();
            assert_eq!(found["commits"][0]["commit"], change);
            search.wait().unwrap();
            break;
        }
        search.kill().unwrap();
        search.wait().unwrap();
    }
    assert_eq!(files(&repository.root()), before);
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(repository.left_over(), 0);
}

/// A real agent: its server is started in each worktree, by the programs of an environment that git does not have, with the keys of
/// a file that git ignores. A run of the bad end counts.
#[test]
fn agent_of_adk_is_run_at_each_commit() {
    let Some((adk, oracle)) = adk_or_skip("agent_of_adk_is_run_at_each_commit").zip(oracle())
    else {
        return;
    };
    let mut repository = Repository::new();
    let desk = repository.root().join("dice");
    copy_folder(&oracle.join("agents/dice"), &desk);
    let set = oracle.join("evalsets/dice_basic.evalset.json");
    std::fs::copy(set, desk.join("dice_basic.evalset.json")).unwrap();
    std::fs::write(desk.join(".env"), "DICE=allowed\n").unwrap();
    let mut agent = std::fs::read_to_string(desk.join("agent.py")).unwrap();
    let begin = "    low, step = turn.low, turn.step\n";
    assert!(agent.contains(begin));
    // Without its key, it refuses everything in all commits.
    let with_key = format!(
        "{begin}    import os\n    if os.environ.get(\"DICE\") != \"allowed\":\n        return Act(text=\"no\")\n"
    );
    agent = agent.replace(begin, &with_key);
    repository.write(".gitignore", ".evaltrail\n.env\n__pycache__\n.adk\n");
    repository.write("dice/agent.py", &agent);
    repository.commits = vec![repository.commits.pop().unwrap()];
    for at in 0..4 {
        repository.write("lib/notes.txt", &at.to_string());
    }
    let refusing = agent.replace(
        begin,
        &format!("{begin}    return Act(text=\"I do not roll dice.\")\n"),
    );
    repository.write("dice/agent.py", &refusing);
    let change = repository.commits.last().unwrap().clone();
    repository.write("lib/notes.txt", "4");
    let folders = std::env::join_paths(
        std::iter::once(adk.parent().unwrap().to_path_buf())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let path = folders.unwrap();
    let mut run = evaltrail(&repository.folder.path().join("home"));
    run.args(["run", "dice", "--trust", "-q"])
        .env("PATH", &path);
    output(run.current_dir(repository.root()));
    let mut search = evaltrail(&repository.folder.path().join("home"));
    search.args(["bisect", "dice", "--json", "--trust", "--attempts", "1"]);
    search
        .args(["--good", &repository.commits[0]])
        .env("PATH", &path);
    let ran = output(search.current_dir(repository.root()));
    assert_eq!(ran.status.code(), Some(0), "{}", both(&ran));
    assert!(
        both(&ran).contains("7 attempts of earlier runs count"),
        "{}",
        both(&ran)
    );
    assert_eq!(answer(&ran)["commits"][0]["commit"], change);
}

#[test]
fn what_cannot_be_bisected_is_refused() {
    let mut repository = Repository::new();
    repository.write("lib/notes.txt", "1");
    let refused = |arguments: &[&str], why: &str| {
        let ran = repository.bisect(arguments);
        assert_eq!(ran.status.code(), Some(2), "{}", both(&ran));
        assert!(both(&ran).contains(why), "{}", both(&ran));
    };
    refused(
        &["s.evalset.json", "--bad", "nowhere"],
        "--bad: nowhere: git knows no such commit",
    );
    refused(
        &["s.evalset.json", "--path", "elsewhere"],
        "do not differ in anything that the agent reads",
    );
    refused(&["s.evalset.json", "--filter", "zzz"], "no case");
    let mut command = repository.command(&["s.evalset.json"]);
    let replayed = output(command.args(["--agent", "replay:a.jsonl"]));
    assert_eq!(replayed.status.code(), Some(2), "{}", both(&replayed));
    let first = repository.commits[0].clone();
    refused(&["s.evalset.json", "--bad", &first], "does not follow");
}

/// A setup that is interrupted is made again, and keys are nowhere after the search. A renamed file of the agent is a change of it, and
/// other worktrees of the user stay in the list although their folder is away.
#[test]
fn worktrees_are_prepared_and_nothing_is_left() {
    let mut repository = Repository::new();
    let elsewhere = repository.folder.path().join("elsewhere");
    let name = elsewhere.display().to_string();
    repository.git(&["worktree", "add", "-q", "--detach", &name]);
    std::fs::rename(&elsewhere, repository.folder.path().join("unmounted")).unwrap();
    repository.write("lib/notes.txt", "1");
    repository.git(&["mv", "lib/answer.txt", "answer.txt"]);
    repository.commit("move the answer");
    let change = repository.commits.last().unwrap().clone();
    repository.write("lib/notes.txt", "2");
    let setup = repository.folder.path().join("setup.sh");
    std::fs::write(
        &setup,
        "touch .prepared && echo \"$PWD\" >> \"$TMPDIR/prepared\"\n",
    )
    .unwrap();
    let setup = format!("sh {}", setup.display());
    let arguments = [
        "s.evalset.json",
        "--json",
        "--path",
        "lib",
        "--setup",
        &setup,
    ];
    let found = answer(&repository.bisect(&arguments));
    assert_eq!(found["commits"][0]["commit"], change, "{found}");
    let prepared = std::fs::read_to_string(repository.folder.path().join("tmp/prepared")).unwrap();
    let mut folders: Vec<&str> = prepared.lines().collect();
    folders.sort_unstable();
    folders.dedup();
    assert_eq!(
        folders.len(),
        prepared.lines().count(),
        "each is prepared once"
    );
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 2);
    assert_eq!(repository.left_over(), 0);
}

/// Where the bad end errors, errors are what is searched; where the good end does, nothing can be found.
#[test]
fn broken_ends_are_searched_or_refused() {
    let mut repository = Repository::new();
    repository.write("lib/notes.txt", "1");
    repository.write("broken", "");
    let change = repository.commits.last().unwrap().clone();
    repository.write("lib/notes.txt", "2");
    let found = answer(&repository.bisect(&["s.evalset.json", "--json"]));
    assert_eq!(found["commits"][0]["commit"], change, "{found}");
    repository.git(&["rm", "-q", "broken"]);
    repository.write("lib/notes.txt", "works again");
    repository.write("lib/answer.txt", "goodbye");
    repository.commits = vec![change];
    let refused = repository.bisect(&["s.evalset.json"]);
    assert_eq!(refused.status.code(), Some(2), "{}", both(&refused));
    assert!(
        both(&refused).contains("cannot be run at the good commit"),
        "{}",
        both(&refused)
    );
}
