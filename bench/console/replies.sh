#!/usr/bin/env bash
# How many replies a second are judged, recorded durably and answered with a receipt, beside the ledger alone.
# Usage: bench/console/replies.sh target/dist/answerback [SECONDS]
# The ledger alone is bench-ledger, where it was built beside the program (`cargo build --profile dist -p bench-ledger`). A reply is two
# entries: request and response. Needs wrk. Loopback only; it ends by itself.
set -euo pipefail
program=$1 seconds=${2:-10}
folder=$(mktemp -d)
"$program" serve --store "$folder/ledger.db" --anchor "$folder/anchor" --listen 127.0.0.1:0 2> "$folder/log" &
server=$!
trap 'kill $server; wait $server 2>/dev/null || true; rm -rf "$folder"' EXIT
until grep -q '^endpoint' "$folder/log"; do sleep 0.1; done
url=$(sed -n 's,^endpoint \(.*\)/mcp$,\1,p' "$folder/log")
python3 - "$folder" <<'PY'
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
examples = json.loads(pathlib.Path("crates/answerback-web/examples.json").read_text())
document = next(each["document"] for each in examples if each["name"] == "table")
token = (folder / "serve.token").read_text().strip()
(folder / "post.lua").write_text(f"""
wrk.method = "POST"
wrk.body = [==[{json.dumps(document)}]==]
wrk.headers["Authorization"] = "Bearer {token}"
wrk.headers["Content-Type"] = "application/json"
""")
PY
for connections in 1 64; do
  echo "POST /api/replies, $connections in flight:"
  threads=1
  wrk -t "$threads" -c "$connections" -d "${seconds}s" --latency -s "$folder/post.lua" "$url/api/replies" |
    grep -E 'Requests/sec|50%|99%|Non-2xx' || true
done
alone=$(dirname "$program")/bench-ledger
if [ -x "$alone" ]; then
  echo "the ledger alone:"
  "$alone" 20000 0 0
else
  echo "the ledger alone: not built; cargo build --profile dist -p bench-ledger"
fi
