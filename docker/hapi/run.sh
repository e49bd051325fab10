#!/bin/sh
# HAPI FHIR without docker: run.sh start [PORT] | stop [PORT] | log [PORT].
# Needs Java 17, Maven and curl. Builds once, outside the checkout, in $XDG_CACHE_HOME/readback-hapi (or ~/.cache).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/readback/hapi
what=${1:-help}
port=${2:-8090}
run=$cache/run-$port
base=http://127.0.0.1:$port/fhir

built() {
    # The folder of the classes and the classpath, made anew where the sources are others.
    made_of=$(cat "$here/pom.xml" "$here"/java/*.java | cksum | tr -d ' ')
    folder=$cache/build-$made_of
    if [ ! -f "$folder/whole" ]; then
        echo "Building HAPI (once; fetches about 280 MB where Maven has none of it yet) ..." >&2
        mkdir -p "$folder"
        mvn --batch-mode --quiet --file "$here/pom.xml" "-Dbuilt=$folder" compile >&2
        touch "$folder/whole"
    fi
    echo "$folder"
}

is_up() { [ -f "$run/pid" ] && kill -0 "$(cat "$run/pid")" 2>/dev/null; }

case $what in
start)
    if is_up; then echo "$base"; exit 0; fi
    for tool in java mvn curl; do
        command -v "$tool" >/dev/null || { echo "run.sh: $tool is not installed" >&2; exit 2; }
    done
    if curl -s -o /dev/null --max-time 2 "http://127.0.0.1:$port/"; then
        echo "run.sh: something else answers on port $port; name another" >&2
        exit 2
    fi
    folder=$(built)
    mkdir -p "$run"
    nohup java "-Xmx${HAPI_MEMORY:-2g}" -XX:+UseSerialGC "-Dlogback.configurationFile=$here/logback.xml" \
        -cp "$folder/classes:$(cat "$folder/classpath")" Hapi "$port" "$run/tomcat" >"$run/log" 2>&1 </dev/null &
    echo $! >"$run/pid"
    left=300
    until curl -sf -o /dev/null --max-time 20 "$base/metadata"; do
        is_up || { echo "run.sh: the server ended; the end of $run/log:" >&2; tail -n 20 "$run/log" >&2; exit 1; }
        left=$((left - 1))
        [ "$left" -gt 0 ] || { echo "run.sh: no answer within 5 minutes; see $run/log" >&2; exit 1; }
        sleep 1
    done
    echo "$base"
    ;;
stop)
    if is_up; then
        kill "$(cat "$run/pid")"
        while is_up; do sleep 0.2; done
    fi
    rm -f "$run/pid"
    ;;
log) cat "$run/log" ;;
*) sed -n '2,3s/^# //p' "$0" ;;
esac
