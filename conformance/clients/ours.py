"""Starts Answerback for the tests: in front of a server on pipes, over HTTP, or as the inbox at a terminal."""

import os
import pty
import subprocess
import time
from pathlib import Path

# The longest wait until a program is ready, in seconds.
TIMEOUT = 30


class Ours:
    """One gateway with its own store in the folder `room`."""

    def __init__(self, program, room):
        self.program = str(Path(program).absolute())
        self.room = Path(room).absolute()
        self.room.mkdir(parents=True, exist_ok=True)
        self.store = self.room / "ledger.db"
        # The configuration and store of this machine must not be used.
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.room),
            "XDG_STATE_HOME": str(self.room),
            "XDG_CONFIG_HOME": str(self.room),
        }
        self.serving = None

    def wrap(self, name, command, config=None):
        """Returns the command with which a client starts a server behind the gateway."""
        configured = ["--config", str(self.config(config))] if config else []
        return {
            "command": self.program,
            "args": ["wrap", "--name", name, "--store", str(self.store), *configured, "--", *command],
            "env": self.environment,
        }

    def serve(self, upstreams, config=""):
        """Starts the HTTP gateway in front of these servers, and returns its URL. `upstreams` maps names to YAML."""
        listed = "".join(f"    {name}: {how}\n" for name, how in upstreams.items())
        file = self.config(f"gateway:\n  listen: 127.0.0.1:0\n  upstreams:\n{listed}{config}")
        token = self.room / "token"
        log = (self.room / "serve.log").open("w+")
        command = [self.program, "serve", "--config", str(file), "--store", str(self.store), "--token-file", str(token)]
        self.serving = subprocess.Popen(
            command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.room
        )
        log_text = ""
        for _ in range(TIMEOUT * 50):
            log_text = (self.room / "serve.log").read_text()
            for line in log_text.splitlines():
                if line.startswith("endpoint "):
                    return {"url": line.split()[1], "token": token.read_text().strip()}
            if self.serving.poll() is not None:
                break
            time.sleep(0.02)
        raise RuntimeError(f"answerback serve is not ready: {log_text}")

    def config(self, text):
        file = self.room / "config.yml"
        file.write_text(text)
        return file

    def inbox(self, *words):
        """Returns the output of `answerback inbox`."""
        command = [self.program, "inbox", "--store", str(self.store), *words]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True).stdout

    def decide(self, *words):
        """Decides a case at a terminal, as a person does."""
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
                self.serving.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                self.serving.kill()
            self.serving = None
