"""Our program as the harnesses start it: before a server on pipes, or over HTTP, and the inbox at a terminal."""

import os
import pty
import subprocess
import time
from pathlib import Path

# Nobody waits longer for a program to say that it is ready.
PATIENCE = 30


class Ours:
    """One gateway with a record of its own in `room`."""

    def __init__(self, program, room):
        self.program = str(Path(program).absolute())
        self.room = Path(room).absolute()
        self.room.mkdir(parents=True, exist_ok=True)
        self.store = self.room / "ledger.db"
        # Nothing of this machine's own configuration or record takes part.
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.room),
            "XDG_STATE_HOME": str(self.room),
            "XDG_CONFIG_HOME": str(self.room),
        }
        self.serving = None

    def wrap(self, name, command, config=None):
        """How a client starts a server behind us."""
        configured = ["--config", str(self.config(config))] if config else []
        return {
            "command": self.program,
            "args": ["wrap", "--name", name, "--store", str(self.store), *configured, "--", *command],
            "env": self.environment,
        }

    def serve(self, upstreams, config=""):
        """Starts our HTTP face before these servers, and says where it is. `upstreams` is YAML by name."""
        listed = "".join(f"    {name}: {how}\n" for name, how in upstreams.items())
        file = self.config(f"gateway:\n  listen: 127.0.0.1:0\n  upstreams:\n{listed}{config}")
        token = self.room / "token"
        log = (self.room / "serve.log").open("w+")
        command = [self.program, "serve", "--config", str(file), "--store", str(self.store), "--token-file", str(token)]
        self.serving = subprocess.Popen(
            command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.room
        )
        said = ""
        for _ in range(PATIENCE * 50):
            said = (self.room / "serve.log").read_text()
            for line in said.splitlines():
                if line.startswith("endpoint "):
                    return {"url": line.split()[1], "token": token.read_text().strip()}
            if self.serving.poll() is not None:
                break
            time.sleep(0.02)
        raise RuntimeError(f"answerback serve is not ready: {said}")

    def config(self, text):
        file = self.room / "config.yml"
        file.write_text(text)
        return file

    def inbox(self, *words):
        """What `answerback inbox` prints."""
        command = [self.program, "inbox", "--store", str(self.store), *words]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True).stdout

    def decide(self, *words):
        """Decides as a person does, which takes a terminal."""
        leader, follower = pty.openpty()
        command = [self.program, "inbox", "--store", str(self.store), *words]
        try:
            done = subprocess.run(command, env=self.environment, stdin=follower, capture_output=True, text=True)
        finally:
            os.close(leader)
            os.close(follower)
        if done.returncode != 0:
            raise RuntimeError(f"inbox {words}: {done.stderr}")
        return done.stdout

    def close(self):
        if self.serving:
            self.serving.terminate()
            try:
                self.serving.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.serving.kill()
            self.serving = None
