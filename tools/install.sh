#!/bin/sh
# Installs what a lock names into the environment of a Python: by uv, in a fifth of pip's time; where uv cannot, by pip.
set -eu
python=$1
lock=$2

pip() {
    "$python" -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes --no-deps -r "$1"
}

# uv does not read pip's settings
index=${PIP_INDEX_URL:-$("$python" -m pip config get global.index-url 2> /dev/null || true)}
[ -z "$index" ] || export UV_DEFAULT_INDEX="$index"
[ -z "${PIP_CERT:-}" ] || export SSL_CERT_FILE="$PIP_CERT"

{
    pip "$(dirname "$0")/uv.lock" &&
        "$python" -m uv pip install --quiet --python "$python" --require-hashes --no-deps -r "$lock"
} || {
    echo "uv could not install it: pip does, which takes a minute" >&2
    pip "$lock"
}
