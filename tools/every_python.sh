#!/bin/sh
# The quick start, and the tests of the stack's folders, with every Python from 3.11 on that this machine has.
# Tests of a whole checkout with .venv's Python come before it: that one is left out.
set -eu
cd "$(dirname "$0")/.."

version_of() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null || true
}

done_with=" $(version_of .venv/bin/python) "
echo "every test is for Python$done_with"
code=0
for minor in 11 12 13 14 15 16; do
    for python in "python3.$minor" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$minor".*/bin/python3; do
        python=$(command -v "$python" || true)
        [ -n "$python" ] && version=$(version_of "$python") || continue
        case "$done_with" in *" $version "*) continue ;; esac
        [ "$version" = "3.$minor" ] || continue
        done_with="$done_with$version "
        echo "with Python $version, $python:"
        venv=build/python-$version
        make --no-print-directory install-dev VENV="$venv" PYTHON="$python"
        TEST_KUBECONFIG='' TEST_KUBECONFIG_SHARDS='' "$venv/bin/python" -m pytest -q -n "${WORKERS:-5}" \
            --dist worksteal tests/e2e/test_sandbox_run.py tests/apis tests/client tests/seams tests/workqueue \
            tests/informers tests/controller tests/test_standard_library.py || code=$?
    done
done
echo "run with Python$done_with"
exit "$code"
