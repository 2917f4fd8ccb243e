-- Persons as the provider of single sign-on knows them, sign-ins there that are under way, and links that the command line made.
create table sso_identity (
  issuer       text not null,
  subject      text not null,
  person_id    integer not null references person on delete cascade,
  created_at   timestamptz not null,
  last_used_at timestamptz not null,
  primary key (issuer, subject),
  unique (person_id, issuer)
);

create table sso_start (
  token_hash bytea primary key,
  state      text not null,
  nonce      text not null,
  verifier   text not null,
  next       text not null,
  address    text not null,
  session_id integer references session on delete cascade,
  started_at timestamptz not null,
  expires_at timestamptz not null
);
create index sso_start_session on sso_start (session_id);
create index sso_start_expiry on sso_start (expires_at);

alter table link add column is_by_command boolean not null default false;
