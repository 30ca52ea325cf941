"""A language client that opens one file, edits it, and pulls its diagnostics after each edit."""
import json
import subprocess

from measure import process


class LanguageClient:
    def __init__(self, command, folder):
        self.process = subprocess.Popen([str(part) for part in command], cwd=folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.last = 0
        self.version = 0
        uri = folder.resolve().as_uri()
        capabilities = {"textDocument": {"diagnostic": {"dynamicRegistration": False}}}
        self.request("initialize", {"processId": None, "rootUri": uri, "capabilities": capabilities,
                                    "workspaceFolders": [{"uri": uri, "name": folder.name}]})
        self.notify("initialized", {})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.request("shutdown", None)
        self.notify("exit", None)
        self.process.communicate()

    def open(self, path, text=None):
        """Opens a file, with a text that may differ from the file."""
        self.uri = path.resolve().as_uri()
        text = path.read_text() if text is None else text
        document = {"uri": self.uri, "languageId": "python", "version": 0, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def replace_line(self, line, text):
        """Replaces a line; line numbers are 0-based."""
        self.replace(line, line + 1, text)

    def insert_line(self, line, text):
        self.replace(line, line, text)

    def replace(self, start, end, text):
        """Replaces the lines from `start` to before `end`."""
        self.version += 1
        change = {"range": {"start": {"line": start, "character": 0}, "end": {"line": end, "character": 0}}, "text": text}
        document = {"uri": self.uri, "version": self.version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})

    def messages(self):
        answer = self.request("textDocument/diagnostic", {"textDocument": {"uri": self.uri}})
        return [item["message"] for item in answer["items"]]

    def seconds_so_far(self):
        return process.seconds_so_far(self.process.pid)

    def request(self, method, parameters):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": parameters})
        while True:
            message = self.receive()
            if "method" in message:
                if "id" in message:
                    self.answer(message)
            elif message.get("id") == self.last:
                assert "error" not in message, message
                return message["result"]

    def notify(self, method, parameters):
        self.send({"method": method, "params": parameters})

    def answer(self, request):
        """Answers a request of the server. There are no settings."""
        items = request.get("params", {}).get("items") if request["method"] == "workspace/configuration" else None
        self.send({"id": request["id"], "result": None if items is None else [None] * len(items)})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0"} | {k: v for k, v in message.items() if k != "params" or v is not None})
        encoded = body.encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(encoded), encoded))
        self.process.stdin.flush()

    def receive(self):
        length = None
        while (header := self.process.stdout.readline().strip()) or length is None:
            assert header, "the server has exited"
            name, value = header.split(b":", 1)
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(self.process.stdout.read(length))
