# What `.ci/run` and `.ci/release` share.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
table=""
failed=0

# Runs a command and notes how long it took. When it fails, the next steps run only in a release.
step() {
  local name=$1 began=$SECONDS result=passed
  shift
  echo "== $name"
  "$@" || result=FAILED failed=1
  table+=$(printf '%-7s %5d s  %s' "$result" $((SECONDS - began)) "$name")$'\n'
  if [ "$result" = FAILED ] && [ "$0" != .ci/release ]; then
    finish
    exit 1
  fi
}

skip() {
  table+=$(printf '%-7s %5s    %s' "NOT RUN" "" "$1")$'\n'
}

# Installs Debian packages unless the program is there. A machine without apt-get, or without root,
# does without them.
need() {
  local program=$1
  shift
  if command -v "$program" >/dev/null; then return; fi
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then return; fi
  apt-get update -qq && apt-get install -y -qq "$@" >/dev/null || true
}

# Prints the table of all steps. Fails when one of them failed.
finish() {
  printf '\n%s' "$table"
  return $failed
}
