# shellcheck shell=sh
# Sourced by scripts that start services: `until_done COMMAND …` repeats a command for five minutes until it succeeds.

until_done() {
  for _ in $(seq 600); do
    "$@" >said 2>&1 && return
    sleep 0.5
  done
  cat said >&2
  return 1
}
