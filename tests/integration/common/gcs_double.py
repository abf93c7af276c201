"""A double of Google Cloud Storage: python gcs_double.py PORT. It keeps objects in memory.

It speaks as much of the XML API as the crate object_store uses, and as much of the JSON API as google-cloud-storage for
Python uses in ADK's managers of eval sets and results.
"""

import json
import sys
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

objects = {}  # (bucket, name) -> (bytes, generation, date)
generations = [0]
lock = Lock()


def store(bucket, name, body):
    generations[0] += 1
    objects[bucket, name] = (body, str(generations[0]), formatdate(usegmt=True))
    return objects[bucket, name]


def below(bucket, prefix):
    return [(name, found) for (of, name), found in sorted(objects.items()) if of == bucket and name.startswith(prefix)]


def resource(bucket, name, found):
    return {"kind": "storage#object", "bucket": bucket, "name": name, "generation": found[1], "size": str(len(found[0]))}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_any(self):
        url = urlsplit(self.path)
        self.query = {key: values[0] for key, values in parse_qs(url.query, keep_blank_values=True).items()}
        self.body = self.rfile.read(int(self.headers.get("content-length") or 0))
        with lock:
            # The JSON API encodes the slashes of names.
            parts = [unquote(part) for part in url.path.lstrip("/").split("/")]
            if parts[:3] == ["upload", "storage", "v1"]:
                return self.upload(parts[4])
            if parts[:3] == ["download", "storage", "v1"]:
                return self.json_object(parts[4], parts[6], True)
            if parts[:2] == ["storage", "v1"]:
                return self.json_api(parts[2:])
            bucket, _, name = unquote(url.path).lstrip("/").partition("/")
            return self.xml_object(bucket, name) if name else self.xml_list(bucket)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

    def json_api(self, parts):
        bucket = parts[1]
        if len(parts) == 2:
            return self.reply_json({"kind": "storage#bucket", "name": bucket})
        if len(parts) == 3:
            found = below(bucket, self.query.get("prefix", ""))
            return self.reply_json({"items": [resource(bucket, name, one) for name, one in found]})
        return self.json_object(bucket, parts[3], self.query.get("alt") == "media")

    def json_object(self, bucket, name, is_media):
        found = objects.get((bucket, name))
        if found is None:
            return self.reply(404, json.dumps({"error": {"code": 404, "message": "no such object"}}).encode())
        if self.command == "DELETE":
            del objects[bucket, name]
            return self.reply(204, b"")
        return self.reply(200, found[0]) if is_media else self.reply_json(resource(bucket, name, found))

    def upload(self, bucket):
        """A multipart upload: the metadata, then the content."""
        boundary = self.headers["content-type"].split("boundary=")[1].strip('"').encode()
        _, metadata, content, _ = self.body.split(b"--" + boundary)
        parts = [part.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n") for part in (metadata, content)]
        name = json.loads(parts[0])["name"]
        self.reply_json(resource(bucket, name, store(bucket, name, parts[1])))

    def xml_list(self, bucket):
        entry = (
            "<Contents><Key>{}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            "<ETag>&quot;{}&quot;</ETag><Size>{}</Size></Contents>"
        )
        found = below(bucket, self.query.get("prefix", ""))
        found = [(name, one) for name, one in found if name > self.query.get("start-after", "")]
        delimiter, folders = self.query.get("delimiter"), set()
        if delimiter:
            start = len(self.query.get("prefix", ""))
            folders = {name[: name.index(delimiter, start) + 1] for name, _ in found if delimiter in name[start:]}
            found = [(name, one) for name, one in found if delimiter not in name[start:]]
        entries = "".join(entry.format(escape(name), one[1], len(one[0])) for name, one in found)
        entries += "".join(f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in sorted(folders))
        text = f"<?xml version='1.0'?><ListBucketResult>{entries}<IsTruncated>false</IsTruncated></ListBucketResult>"
        self.reply(200, text.encode(), {"Content-Type": "application/xml"})

    def xml_object(self, bucket, name):
        found = objects.get((bucket, name))
        if self.command == "PUT":
            asked = self.headers.get("x-goog-if-generation-match")
            if asked is not None and asked != (found[1] if found else "0"):
                return self.reply(412, b"<Error><Code>PreconditionFailed</Code></Error>")
            generation = store(bucket, name, self.body)[1]
            return self.reply(200, b"", {"ETag": f'"{generation}"', "x-goog-generation": generation})
        if found is None:
            return self.reply(404, b"<Error><Code>NoSuchKey</Code></Error>")
        if self.command == "DELETE":
            del objects[bucket, name]
            return self.reply(204, b"")
        body, generation, date = found
        self.reply(200, body, {"ETag": f'"{generation}"', "x-goog-generation": generation, "Last-Modified": date})

    def reply_json(self, value):
        self.reply(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def reply(self, status, body, headers={}):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
