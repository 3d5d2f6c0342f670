#!/usr/bin/env bash
# Print the path of Python X.Y: `python3.12` where it runs, pyenv's, or the one that uv has or can fetch.
set -euo pipefail
version=$1

for found in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python; do
    if [ "$("$found" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$version" ]; then
        command -v "$found"
        exit
    fi
done
# From PyPI; it brings CPython from its own releases, which takes a way to the internet.
uv=$(command -v uv || true)
if [ -z "$uv" ]; then
    tools=$(mktemp -d)
    trap 'rm -rf "$tools"' EXIT
    python3 -m venv "$tools" && "$tools/bin/python" -m pip install --quiet uv && uv=$tools/bin/uv
fi
if "$uv" python install --quiet "$version" >&2; then
    "$uv" python find --managed-python "$version"
    exit
fi
echo "no Python $version on this machine, and uv could not fetch one" >&2
exit 1
