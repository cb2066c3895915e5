#!/usr/bin/env bash
# The certificates of the TLS tests, made anew: an authority, and what it and others issued.
# They protect nothing: the keys are public, and only 127.0.0.1 and names of no one are in them.
set -euo pipefail
cd "$(dirname "$0")"
rm -f ./*.pem

key() { openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256; }

# issue NAME SUBJECT_ALT_NAME NOT_BEFORE NOT_AFTER: a certificate with its key, by the authority.
issue() {
  key > key.tmp
  openssl req -new -key key.tmp -subj "/CN=$1" -out request.tmp
  openssl ca -batch -notext -config <(authority) -in request.tmp -out "$1.pem" \
    -startdate "$3" -enddate "$4" -extfile <(printf 'subjectAltName=%s\n' "$2") 2> ca.tmp || {
    cat ca.tmp; exit 1; }
  cat key.tmp >> "$1.pem"
}

authority() {
  cat <<'X'
[ca]
default_ca = a
[a]
database = index.tmp
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = p
certificate = authority.pem
private_key = authority.tmp
unique_subject = no
[p]
commonName = supplied
X
}

key > authority.tmp
openssl req -x509 -new -key authority.tmp -subj "/CN=A test authority" -days 36500 -out authority.pem
: > index.tmp
issue good "DNS:localhost,IP:127.0.0.1" 20240101000000Z 21240101000000Z
issue expired "DNS:localhost,IP:127.0.0.1" 20200101000000Z 20210101000000Z
issue early "DNS:localhost,IP:127.0.0.1" 21200101000000Z 21240101000000Z
issue other "DNS:model.example,IP:192.0.2.1" 20240101000000Z 21240101000000Z
key > key.tmp
openssl req -x509 -new -key key.tmp -subj "/CN=localhost" -days 36500 -out selfsigned.pem \
  -addext "subjectAltName=DNS:localhost,IP:127.0.0.1"
cat key.tmp >> selfsigned.pem
rm -f ./*.tmp* [0-9A-F]*.pem
