//! The real binary in a pseudo-terminal, with an independent terminal emulator that interprets its output.
// Shared by tests and a benchmark, which use different parts of it.

use super::time_limit::TimeLimit;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A program in a pseudo-terminal.
pub struct Terminal {
    pub child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    bytes: Arc<Mutex<Vec<u8>>>,
    parser: Arc<Mutex<vt100::Parser>>,
    display: std::thread::JoinHandle<()>,
}

/// The terminal emulator needs at least two cells.
fn cells(count: u16) -> std::num::NonZero<u16> {
    std::num::NonZero::new(count.max(2)).expect("two at least")
}

/// The beginning and the end of a synchronized update, which a terminal shows as a whole.
const FRAME_BEGINS: &[u8] = b"\x1b[?2026h";
const FRAME_ENDS: &[u8] = b"\x1b[?2026l";

/// The length of the output up to a frame that is not complete yet. The end of the output may be the first part of the
/// sequence that begins a frame.
fn complete_frames(output: &[u8]) -> usize {
    let last = |sequence: &[u8]| {
        output
            .windows(sequence.len())
            .rposition(|part| part == sequence)
    };
    if let Some(begin) =
        last(FRAME_BEGINS).filter(|begin| last(FRAME_ENDS).is_none_or(|end| end < *begin))
    {
        return begin;
    }
    let of_a_sequence = |count: &usize| output.ends_with(&FRAME_BEGINS[..*count]);
    output.len()
        - (1..FRAME_BEGINS.len())
            .rev()
            .find(of_a_sequence)
            .unwrap_or(0)
}

/// Draws output on the screen until there is no more. As in terminals, a frame is drawn as it is when its rest does not come:
/// its program may have been stopped.
fn show_output(written: &Receiver<Vec<u8>>, screen: &Mutex<vt100::Parser>) {
    let mut unshown = Vec::new();
    loop {
        let output = written.recv_timeout(FRAME_LIMIT);
        let complete = match &output {
            Ok(output) => {
                unshown.extend_from_slice(output);
                complete_frames(&unshown)
            }
            Err(_) => unshown.len(),
        };
        let shown: Vec<u8> = unshown.drain(..complete).collect();
        screen.lock().unwrap().process(&shown);
        if output == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

/// How long a terminal waits for the rest of a frame.
const FRAME_LIMIT: Duration = Duration::from_millis(500);
/// Time limit of each wait.
const LIMIT: Duration = Duration::from_secs(60);
/// After the end of a program, its output is complete when nothing comes for this long.
const REST: Duration = Duration::from_secs(1);

impl Terminal {
    /// Starts a program in a terminal of this size: columns and rows.
    pub fn start(program: &str, args: &[&str], home: &Path, size: (u16, u16)) -> Terminal {
        Terminal::start_in(program, args, home, size, home, &[])
    }

    /// Starts a program in a folder, with additional environment variables.
    pub fn start_in(
        program: &str,
        args: &[&str],
        home: &Path,
        (columns, rows): (u16, u16),
        folder: &Path,
        env: &[(&str, &str)],
    ) -> Terminal {
        let size = PtySize {
            rows,
            cols: columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system()
            .openpty(size)
            .expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(folder);
        command.env("TERM", "xterm-256color");
        command.env("EVALTRAIL_HOME", home);
        command.env_remove("NO_COLOR");
        command.env_remove("COLORTERM");
        // Developers may have keys in their environment.
        ["GOOGLE_API_KEY", "GEMINI_API_KEY"]
            .iter()
            .for_each(|key| command.env_remove(key));
        for (key, value) in env {
            command.env(key, value);
        }
        let child = pair
            .slave
            .spawn_command(command)
            .expect("the program starts");
        let writer = pair.master.take_writer().expect("a writer");
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let parser = Arc::new(Mutex::new(vt100::Parser::new(
            cells(rows),
            cells(columns),
            0,
        )));
        let kept = bytes.clone();
        let (output, written) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                kept.lock().unwrap().extend_from_slice(&buffer[..count]);
                if output.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let screen = parser.clone();
        let display = std::thread::spawn(move || show_output(&written, &screen));
        Terminal {
            child,
            master: pair.master,
            writer,
            bytes,
            parser,
            display,
        }
    }

    /// Waits until all is read that the program wrote before its end. A process that it left behind can keep the terminal
    /// open; then the output is complete when nothing more comes.
    fn wait_for_rest(&self) {
        let mut rest = (self.written(), TimeLimit::new(REST));
        while !self.display.is_finished() && !rest.1.has_passed() {
            std::thread::sleep(Duration::from_millis(1));
            if self.written() != rest.0 {
                rest = (self.written(), TimeLimit::new(REST));
            }
        }
    }

    /// Types. Escape is typed as a sequence of its own: if the next key arrived with a bare escape, as can happen on a busy
    /// machine, the two would be one key with alt.
    pub fn keys(&mut self, keys: &str) {
        let mut typed = String::new();
        let mut rest = keys.chars().peekable();
        while let Some(key) = rest.next() {
            typed.push(key);
            if key == '\x1b' && !matches!(rest.peek(), Some('[' | 'O')) {
                typed.push_str("[27u");
            }
        }
        self.type_bytes(typed.as_bytes());
    }

    /// Types exactly these bytes.
    pub fn type_bytes(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).expect("typed");
        self.writer.flush().expect("typed");
    }

    /// The text on the screen after the last complete frame.
    pub fn screen(&self) -> String {
        self.parser.lock().unwrap().screen().contents()
    }

    /// All bytes that were written so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }

    /// Number of bytes that were written so far.
    pub fn written(&self) -> usize {
        self.bytes.lock().unwrap().len()
    }

    /// Whether the alternate screen is on.
    pub fn is_alternate(&self) -> bool {
        self.parser.lock().unwrap().screen().alternate_screen()
    }

    /// Waits until the screen contains a text.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(&format!("{text:?}"), |screen| screen.contains(text));
    }

    /// Waits until the screen meets a condition; `what` describes the condition in the panic.
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let mut time = TimeLimit::new(LIMIT);
        while !is_so(&self.screen()) {
            assert!(
                !time.has_passed(),
                "waited for {what}; the screen is\n{}",
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until nothing has been written for a while.
    pub fn wait_until_quiet(&self, quiet: Duration) {
        let mut last = (self.written(), Instant::now());
        let mut time = TimeLimit::new(LIMIT);
        while last.1.elapsed() < quiet {
            assert!(!time.has_passed(), "it never stops writing");
            std::thread::sleep(Duration::from_millis(10));
            if self.written() != last.0 {
                last = (self.written(), Instant::now());
            }
        }
    }

    /// Resizes the terminal.
    pub fn resize(&self, columns: u16, rows: u16) {
        let size = PtySize {
            rows,
            cols: columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        self.parser
            .lock()
            .unwrap()
            .screen_mut()
            .set_size(cells(rows), cells(columns));
        self.master.resize(size).expect("resized");
    }

    /// The id of the process.
    pub fn pid(&self) -> i32 {
        self.child.process_id().expect("it runs") as i32
    }

    /// Sends a signal by name.
    pub fn signal(&self, name: &str) {
        let status = std::process::Command::new("kill")
            .args([format!("-{name}"), self.pid().to_string()])
            .status();
        assert!(status.expect("kill runs").success());
    }

    /// Waits until the program ends and all that it wrote is read. Returns its exit code.
    pub fn wait_for_end(&mut self) -> u32 {
        let mut time = TimeLimit::new(LIMIT);
        loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                self.wait_for_rest();
                return status.exit_code();
            }
            assert!(
                !time.has_passed(),
                "it does not end; the screen is\n{}",
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether line editing and echo are on, as a shell expects.
    pub fn is_cooked(&self) -> bool {
        // Opens the slave: opening the master by its path would create another terminal.
        let path = self.master.tty_name().expect("a name");
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
        let file = rustix::fs::open(path, flags, rustix::fs::Mode::empty()).expect("the terminal");
        let modes = rustix::termios::tcgetattr(&file)
            .expect("its modes")
            .local_modes;
        modes.contains(rustix::termios::LocalModes::ICANON | rustix::termios::LocalModes::ECHO)
    }

    /// Asserts that the output switches off every terminal mode that it switched on.
    pub fn assert_restored(&self) {
        let text = String::from_utf8_lossy(&self.bytes()).into_owned();
        for mode in ["1049", "1000", "1002", "1003", "1006", "2004", "2026"] {
            let (on, off) = (format!("\x1b[?{mode}h"), format!("\x1b[?{mode}l"));
            let last_on = text.rfind(&on);
            let last_off = text.rfind(&off);
            assert!(
                last_on.is_none() || last_off > last_on,
                "mode {mode} is left on"
            );
        }
        assert!(
            text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l"),
            "the cursor is left hidden"
        );
        let left = text.rfind("\x1b[?1049l").unwrap_or(0);
        assert!(
            !text[left..].contains("\x1b[?2026"),
            "a frame was drawn after leaving"
        );
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
