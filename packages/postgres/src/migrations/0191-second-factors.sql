-- Second factors, passkeys, and what accounts ask of their members.
alter table account add column second_factor_required boolean not null default false;
alter table account add column session_hours integer check (session_hours between 1 and 720);
create table second_factor (
  person_id    integer primary key references person on delete cascade,
  key_sealed   bytea,
  used_steps   bigint[] not null default '{}',
  created_at   timestamptz not null,
  confirmed_at timestamptz
);

create table recovery_code (
  person_id integer not null references person on delete cascade,
  code_hash bytea not null,
  primary key (person_id, code_hash)
);

create table passkey (
  id            integer generated always as identity primary key,
  person_id     integer not null references person on delete cascade,
  credential_id bytea not null unique,
  public_key    bytea not null,
  counter       bigint not null,
  transports    text[] not null,
  name          text not null,
  created_at    timestamptz not null,
  last_used_at  timestamptz
);
create index passkey_person on passkey (person_id);

create table passkey_challenge (
  challenge  bytea primary key,
  token_hash bytea not null unique,
  person_id  integer references person on delete cascade,
  expires_at timestamptz not null
);
create index passkey_challenge_person on passkey_challenge (person_id);
create index passkey_challenge_expiry on passkey_challenge (expires_at);

create table sign_in_step (
  token_hash    bytea primary key,
  person_id     integer not null references person on delete cascade,
  password_hash text not null,
  link_hash     bytea,
  tries         integer not null default 0,
  expires_at    timestamptz not null
);
create index sign_in_step_person on sign_in_step (person_id);
create index sign_in_step_expiry on sign_in_step (expires_at);
