-- Who may sign in to the dashboard, how, and where he is signed in. The first three tables are those of better-auth
-- (its user, account, session and verification), under words of our own; src/accounts/sign-in/sign-in.ts names the fields.

alter table account
  add column role           text not null default 'owner' check (role in ('owner', 'operator')),
  add column name           text not null default '',
  add column email_verified boolean not null default true,
  add column image          text,
  add column updated_at     timestamptz not null default now();

-- Ways of signing in; today a password, later others.
create table sign_in_method (
  id                       integer generated always as identity primary key,
  account_id               integer not null references account on delete cascade,
  provider                 text not null,
  provider_account         text not null,
  password                 text,
  access_token             text,
  refresh_token            text,
  id_token                 text,
  access_token_expires_at  timestamptz,
  refresh_token_expires_at timestamptz,
  scope                    text,
  created_at               timestamptz not null default now(),
  updated_at               timestamptz not null default now(),
  unique (account_id, provider)
);
insert into sign_in_method (account_id, provider, provider_account, password)
  select id, 'credential', id::text, password_hash from account where password_hash is not null;
alter table account drop column password_hash;

-- The cookie is this token and a signature by a key that is not in the database.
create table sign_in_session (
  id         integer generated always as identity primary key,
  account_id integer not null references account on delete cascade,
  token      text not null unique,
  expires_at timestamptz not null,
  ip_address text,
  user_agent text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index sign_in_session_account on sign_in_session (account_id);
create index sign_in_session_expiry on sign_in_session (expires_at);

create table sign_in_check (
  id         integer generated always as identity primary key,
  identifier text not null,
  value      text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- What signs the cookies, made by the first node that needs it and the same for all.
create table sign_in_secret (
  one_row    boolean primary key default true check (one_row),
  key_sealed bytea not null
);

-- Links that let somebody in once, to set a password: `first` (the operator's account of a new installation),
-- `invitation` (a new account), `reset` (a forgotten password). Only the hash is kept.
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

-- Failed attempts to sign in, by whom they were made and at whose account; the whole fleet counts together.
create table sign_in_failure (
  subject    text primary key,
  started_at timestamptz not null,
  failures   integer not null
);
create index sign_in_failure_age on sign_in_failure (started_at);
