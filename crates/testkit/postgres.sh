#!/usr/bin/env bash
# A private PostgreSQL for tests: a cluster of its own in a directory, on a port of its own, gone when it is stopped.
#
#   postgres.sh start DIRECTORY   makes and starts it, prints its address
#   postgres.sh stop DIRECTORY    stops it and removes it
#   postgres.sh crash DIRECTORY   kills it, as a power cut would
#   postgres.sh again DIRECTORY   starts it again after a crash, on the same port
#   postgres.sh encrypt DIRECTORY starts it again speaking to nobody unencrypted, as `localhost`, by DIRECTORY/authority.pem
#
# PostgreSQL does not run as root: then it runs as the user its package makes. Where it is missing, root installs it.
set -euo pipefail

find_programs() {
    local found
    found=$(command -v initdb || ls -d /usr/lib/postgresql/*/bin/initdb /usr/pgsql-*/bin/initdb 2>/dev/null | sort -V | tail -n 1) || true
    [ -n "$found" ] && programs=$(dirname "$found")
}

as_user() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid="$owner" --regid="$owner" --clear-groups "$@"
    else
        "$@"
    fi
}

if ! find_programs; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "postgres.sh: PostgreSQL is missing: install it, or set THROUGHLINE_TEST_POSTGRES to the address of one" >&2
        exit 1
    fi
    echo "postgres.sh: PostgreSQL is missing: installing it with apt-get" >&2
    # The package would make and start a cluster of its own.
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql; } >&2
    find_programs
fi
owner=nobody
id postgres >/dev/null 2>&1 && owner=postgres
directory=${2:?which directory}

# Every commit waits for the disk, as it does for users.
start() {
    as_user "$programs/pg_ctl" --silent --wait --pgdata="$directory/data" --log="$directory/log" \
        --options="-c fsync=on -c synchronous_commit=on -c listen_addresses=127.0.0.1 -c port=$(cat "$directory/port") \
        -c unix_socket_directories= -c max_connections=200 -c shared_buffers=64MB" start >&2 \
        || { cat "$directory/log" >&2; exit 1; }
}

case ${1-} in
    start)
        mkdir -p "$directory"
        chmod 711 "$directory"
        password=$(head -c 18 /dev/urandom | base64 | tr '+/' '-_')
        (umask 077 && printf '%s' "$password" >"$directory/password")
        touch "$directory/log"
        [ "$(id -u)" = 0 ] && chown "$owner" "$directory" "$directory/password" "$directory/log"
        as_user "$programs/initdb" --pgdata="$directory/data" --username=tl --pwfile="$directory/password" \
            --auth=scram-sha-256 --encoding=UTF8 --no-locale --no-sync >/dev/null
        for _ in 1 2 3 4 5; do
            echo $((20000 + RANDOM)) >"$directory/port"
            if (start) 2>"$directory/said"; then break; fi
        done
        [ -f "$directory/data/postmaster.pid" ] || { cat "$directory/said" >&2; exit 1; }
        echo "postgres://tl:$password@127.0.0.1:$(cat "$directory/port")/postgres"
        ;;
    again) start ;;
    encrypt)
        key=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc)
        data=$directory/data
        openssl req -x509 "${key[@]}" -days 30 -subj "/CN=authority of a test" -keyout "$data/authority.key" -out "$directory/authority.pem"
        openssl req "${key[@]}" -subj /CN=localhost -keyout "$data/server.key" -out "$data/server.csr"
        openssl x509 -req -in "$data/server.csr" -CA "$directory/authority.pem" -CAkey "$data/authority.key" -CAcreateserial -days 30 \
            -extfile <(echo subjectAltName=DNS:localhost) -out "$data/server.crt"
        chmod 600 "$data/server.key"
        chmod 644 "$directory/authority.pem"
        [ "$(id -u)" = 0 ] && chown "$owner" "$data/server.key" "$data/server.crt"
        echo 'ssl = on' >>"$data/postgresql.conf"
        sed -i 's/^host /hostssl /' "$data/pg_hba.conf"
        as_user "$programs/pg_ctl" --silent --wait --pgdata="$data" --log="$directory/log" restart >&2
        ;;
    stop)
        as_user "$programs/pg_ctl" --silent --pgdata="$directory/data" --mode=immediate stop >&2 || true
        rm -rf "$directory"
        ;;
    crash) as_user "$programs/pg_ctl" --silent --pgdata="$directory/data" --mode=immediate stop >&2 ;;
    *) sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
