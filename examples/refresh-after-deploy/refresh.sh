#!/bin/sh
# Has Prepaint render pages of a site again, after a deploy.
#
#   refresh.sh --all           every page that Prepaint knows of
#   refresh.sh / /shop ...     these pages; what is stored of them is deleted first
#
# Environment:
#   PREPAINT_URL            address of Prepaint's API, such as https://prepaint.example.com
#   PREPAINT_TOKEN          webhook token of the domain (prepaint token create)
#   PREPAINT_WAIT_SECONDS   how long it may take to try again when it is told to come later; 300 unless set
#
# Status: 0 queued, 1 refused, 2 called wrongly, 3 not now (not reached, rate limit, too busy).
# Needs a POSIX shell and curl.
set -eu

# As many paths as one request may name.
batch=20

fail() {
  status=$1
  shift
  echo "refresh.sh: $*" >&2
  exit "$status"
}

check_paths() {
  for path do
    case $path in
    *[[:cntrl:]]*) fail 2 'a path holds a control character' ;;
    /*) ;;
    --all) fail 2 'give paths or --all, not both' ;;
    -*) fail 2 "unknown option $path" ;;
    *) fail 2 "a path begins with /, and this does not: $path" ;;
    esac
  done
}

# Sends one body. curl itself waits as long as Retry-After says and tries again.
send() {
  # The token comes by stdin: everybody on the machine can read the arguments of a command.
  code=$(
    printf 'Authorization: Bearer %s\n' "$token" |
      curl --no-progress-meter -X POST "${PREPAINT_URL%/}/api/webhook/refresh" \
        -H @- -H 'Content-Type: application/json' --data-binary "$1" \
        --max-time 30 --retry "$retries" --retry-max-time "$wait" --retry-connrefused \
        -o "$answer" -w '%{http_code}'
  ) || fail 3 "no answer from $PREPAINT_URL"
  case $code in
  200) echo "$(cat "$answer")" ;;
  429 | 5??) fail 3 "not now ($code): $(cat "$answer")" ;;
  *) fail 1 "refused ($code): $(cat "$answer")" ;;
  esac
}

[ $# -gt 0 ] || fail 2 'name the pages to refresh, such as / /shop, or --all'
[ "$*" = --all ] || check_paths "$@"
[ -n "${PREPAINT_URL:-}" ] || fail 2 'PREPAINT_URL is not set'
# Secrets are often pasted with a line break at their end.
token=$(printf %s "${PREPAINT_TOKEN:-}" | tr -d '[:space:]')
[ -n "$token" ] || fail 2 'PREPAINT_TOKEN is not set'
wait=${PREPAINT_WAIT_SECONDS:-300}
case $wait in
*[!0-9]*) fail 2 "PREPAINT_WAIT_SECONDS is not a number of seconds: $wait" ;;
0) retries=0 ;;
*) retries=5 ;;
esac
command -v curl >/dev/null || fail 2 'curl is needed and not installed'

answer=$(mktemp)
trap 'rm -f "$answer"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ "$*" = --all ]; then
  send '{"all": true}'
  exit
fi

urls=
count=0
for path do
  urls="${urls:+$urls, }\"$(printf %s "$path" | sed 's/[\\"]/\\&/g')\""
  count=$((count + 1))
  if [ $((count % batch)) -eq 0 ] || [ $count -eq $# ]; then
    send "{\"urls\": [$urls]}"
    urls=
  fi
done
