create table account (
  id            integer generated always as identity primary key,
  email         text not null unique check (email = lower(email)),
  plan          text not null,
  created_at    timestamptz not null default now(),
  role          text not null default 'owner' check (role in ('owner', 'operator')),
  -- Of packages/service/src/accounts/sign-in/passwords.ts; null: no sign-in to the dashboard.
  password_hash text,
  -- Suspended by an operator: no sign-in, keys and tokens are refused, live traffic passes to the origin.
  suspended_at  timestamptz
);

-- `token_hash`: SHA-256 of the token in the session cookie.
create table sign_in_session (
  id         integer generated always as identity primary key,
  account_id integer not null references account on delete cascade,
  token_hash bytea not null unique,
  address    text not null,
  user_agent text not null,
  created_at timestamptz not null,
  used_at    timestamptz not null,
  expires_at timestamptz not null
);
create index sign_in_session_account on sign_in_session (account_id);
create index sign_in_session_expiry on sign_in_session (expires_at);

-- One-time links to set a password: `first` (the operator of a new installation), `invitation` (a new account),
-- `reset` (a forgotten password). Only the hash is stored.
create table sign_in_link (
  id         integer generated always as identity primary key,
  token_hash bytea not null unique,
  kind       text not null check (kind in ('first', 'invitation', 'reset')),
  email      text,
  plan       text,
  role       text not null default 'owner' check (role in ('owner', 'operator')),
  account_id integer references account on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

-- Failed sign-ins, counted by nodes of 0.2.0. Newer nodes use `rate`; it is dropped one release after 0.3.0.
create table sign_in_failure (
  subject    text primary key,
  started_at timestamptz not null,
  failures   integer not null
);
create index sign_in_failure_age on sign_in_failure (started_at);

-- Only the hash of a key is stored; the key itself is shown once, in the response that created it.
create table api_key (
  id           integer generated always as identity primary key,
  account_id   integer not null references account on delete cascade,
  name         text not null,
  key_hash     bytea not null unique,
  hint         text not null,
  created_at   timestamptz not null default now(),
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz
);
create index api_key_account on api_key (account_id);

-- For the removal of old keys (packages/service/src/accounts/retention.ts). Writing `last_used_at` changes no column of the index.
create index api_key_ended on api_key (coalesce(revoked_at, expires_at)) where coalesce(revoked_at, expires_at) is not null;
