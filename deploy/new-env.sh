#!/bin/sh
# Writes the settings of compose.yaml to standard output, with a new random value for every secret.
#
#   ./new-env.sh HOST                      > .env    built-in engines, no GPU
#   ./new-env.sh HOST h100     MODELS_DIR  > .env    one H100 or H200
#   ./new-env.sh HOST a10-h100 MODELS_DIR  > .env    an A10 and an H100
#
# HOST is the name that callers open; its address is taken from the DNS unless PARLEY_NODE_IP is set.
set -eu
umask 077

fail() { echo "new-env.sh: $1" >&2; exit 2; }
secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }

[ $# -ge 1 ] || fail "usage: ./new-env.sh HOST [h100|a10-h100 MODELS_DIR]"
host=$1 layout=${2:-} models=${3:-}
case $host in *[!A-Za-z0-9.-]*|'') fail "HOST is a name or an IPv4 address without a port, not '$host'" ;; esac
case $layout in
    '') files=compose.yaml model=parley-responder ;;
    h100|a10-h100) files=compose.yaml:compose.$layout.yaml model=language
        case $models in
            /*) [ -d "$models" ] || fail "there is no directory $models" ;;
            *) fail "MODELS_DIR must be an absolute path; it holds whisper, orpheus, snac and language" ;;
        esac ;;
    *) fail "the layout is h100 or a10-h100, not '$layout'" ;;
esac
node_ip=${PARLEY_NODE_IP:-$(getent ahostsv4 "$host" | awk 'NR == 1 {print $1}')}
[ -n "$node_ip" ] || fail "$host has no IPv4 address in the DNS; make an A record, or set PARLEY_NODE_IP"

cat <<END
COMPOSE_FILE=$files
PARLEY_HOST=$host
PARLEY_NODE_IP=$node_ip
PARLEY_MODELS_DIR=$models
PARLEY_LLM_MODEL=$model
LIVEKIT_API_KEY=parley-$(secret | cut -c 1-12)
LIVEKIT_API_SECRET=$(secret)
PARLEY_TOKEN_AUTH_SECRET=$(secret)
PARLEY_SPEECH_API_KEY=$(secret)
PARLEY_LANGUAGE_API_KEY=$(secret)
REDIS_PASSWORD=$(secret)
GRAFANA_PASSWORD=$(secret | cut -c 1-24)
END
[ "$layout" != a10-h100 ] || printf 'PARLEY_STT_GPU=0\nPARLEY_MODELS_GPU=1\n'
