-- `email` is the contact address, by which commands name the account. Several accounts may have the same.
create table account (
  id            integer generated always as identity primary key,
  email         text not null check (email = lower(email)),
  plan          text not null,
  created_at    timestamptz not null default now(),
  -- For nodes of 0.2.0: operators are of `person`. It is dropped one release after 0.3.0.
  role          text not null default 'owner' check (role in ('owner', 'operator')),
  -- For nodes of 0.2.0: passwords are of `person`. It is dropped one release after 0.3.0.
  password_hash text,
  -- Suspended by an operator: members cannot enter, keys and tokens are refused, live traffic passes to the origin.
  suspended_at  timestamptz,
  -- Null: the account is called by its address.
  name          text,
  -- Everything of the account is deleted at `deletes_at`. Null: it stays.
  deletion_requested_at timestamptz,
  deletes_at    timestamptz,
  -- Whether members need a second factor to enter, and how old their sessions may be; null: as old as sessions get.
  second_factor_required boolean not null default false,
  session_hours          integer check (session_hours between 1 and 720)
);
create index account_deletion on account (deletes_at) where deletes_at is not null;
create index account_email on account (email);

-- Sessions of nodes of 0.2.0. Newer nodes use `session`; it is dropped one release after 0.3.0.
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

-- Links of nodes of 0.2.0. Newer nodes use `link`; it is dropped one release after 0.3.0.
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
  revoked_at   timestamptz,
  -- Who made it; of keys of 0.2.0 the owner. Null: the command line.
  created_by   text,
  person_id    integer,
  rights       text[] not null default '{read,refresh,write}',
  -- Ids of the domains that the key is limited to, as of `member`; null: all of the account.
  domains      integer[]
);
create index api_key_account on api_key (account_id);

-- For the removal of old keys (packages/service/src/accounts/retention.ts). Writing `last_used_at` changes no column of the index.
create index api_key_ended on api_key (coalesce(revoked_at, expires_at)) where coalesce(revoked_at, expires_at) is not null;

-- One human who signs in. `password_hash` is of packages/service/src/accounts/sign-in/passwords.ts; null: no password.
-- `is_unproven`: came by a link that an inviter held, and has not proven since to have the address.
create table person (
  id            integer generated always as identity primary key,
  email         text not null unique check (email = lower(email)),
  name          text,
  locale        text,
  password_hash text,
  is_operator   boolean not null default false,
  created_at    timestamptz not null default now(),
  is_unproven   boolean not null default false
);

-- A person in an account. `domains`: ids of the domains that the member is limited to; null: all of the account.
-- Ids of deleted domains stay in it and reach nothing. Sessions that began before `sessions_ended_at` cannot enter.
create table member (
  id                integer generated always as identity primary key,
  account_id        integer not null references account on delete cascade,
  person_id         integer not null references person on delete cascade,
  role              text not null check (role in ('client', 'viewer', 'editor', 'admin', 'owner')),
  domains           integer[],
  joined_at         timestamptz not null default now(),
  last_seen_at      timestamptz,
  sessions_ended_at timestamptz,
  unique (account_id, person_id),
  constraint member_domains check (case when domains is null then role <> 'client' else role in ('client', 'viewer', 'editor') end)
);
create index member_person on member (person_id);

-- `token_hash`: SHA-256 of the token in the session cookie. `account_id`: the account that was chosen last. `second_factor`:
-- whether the sign-in needed one. `confirmed_at`: when the person last proved who it is, where that was not at the sign-in.
-- `entered`: the accounts that it was used for.
create table session (
  id         integer generated always as identity primary key,
  person_id  integer not null references person on delete cascade,
  account_id integer references account on delete set null,
  token_hash bytea not null unique,
  address    text not null,
  user_agent text not null,
  created_at timestamptz not null,
  used_at    timestamptz not null,
  expires_at timestamptz not null,
  way           text not null default 'password' check (way in ('password', 'passkey', 'sso')),
  second_factor boolean not null default false,
  confirmed_at  timestamptz,
  entered       integer[] not null default '{}'
);
create index session_person on session (person_id);
create index session_account on session (account_id);
create index session_expiry on session (expires_at);

-- A person who is to join an account, with `role` and `domains` as of `member`. Without `account_id` it is the operator's
-- and makes an account, with `plan` and `name`. It goes when it is accepted.
create table invitation (
  id          integer generated always as identity primary key,
  account_id  integer references account on delete cascade,
  email       text not null check (email = lower(email)),
  role        text not null default 'owner' check (role in ('client', 'viewer', 'editor', 'admin', 'owner')),
  domains     integer[],
  plan        text,
  name        text,
  is_operator boolean not null default false,
  invited_by  text not null,
  created_at  timestamptz not null,
  expires_at  timestamptz not null
);
create index invitation_account on invitation (account_id);
create index invitation_expiry on invitation (expires_at);

-- A link that shows some domains to whoever has it. `domains`: ids; those of deleted domains stay and reach nothing.
create table share_link (
  id           integer generated always as identity primary key,
  account_id   integer not null references account on delete cascade,
  name         text not null,
  token_hash   bytea not null unique,
  domains      integer[] not null,
  parts        text[] not null,
  created_at   timestamptz not null,
  expires_at   timestamptz not null,
  last_used_at timestamptz,
  created_by   text
);
create index share_link_account on share_link (account_id);
create index share_link_expiry on share_link (expires_at);

-- How the account looks to its clients; packages/service/src/accounts/branding.ts. `logo_key`: names the logo in its public
-- address, and is made anew with each logo.
create table account_branding (
  account_id    integer primary key references account on delete cascade,
  -- Null: the account's name, no colour of its own, the operator's sender name.
  name          text,
  colour        text,
  sender_name   text,
  show_prepaint boolean not null default true,
  logo          bytea,
  logo_type     text check (logo_type in ('image/png', 'image/webp')),
  logo_key      text unique,
  constraint account_branding_logo check ((logo is null) = (logo_key is null) and (logo is null) = (logo_type is null))
);

-- Links that work once: `first` (the operator of a new installation), `invitation` (a new account), `member` (joining an
-- account), `reset` (a forgotten password). Only the hash is stored. `is_held`: a member who invites got it, not the address.
-- `is_by_command`: the command line made it; it lets its person in also where single sign-on is the only way.
create table link (
  id            integer generated always as identity primary key,
  token_hash    bytea not null unique,
  kind          text not null check (kind in ('first', 'invitation', 'member', 'reset')),
  plan          text,
  invitation_id integer references invitation on delete cascade,
  person_id     integer references person on delete cascade,
  created_at    timestamptz not null default now(),
  expires_at    timestamptz not null,
  is_held       boolean not null default false,
  is_by_command boolean not null default false
);
create index link_invitation on link (invitation_id);
create index link_person on link (person_id);
create index link_expiry on link (expires_at);

-- The secret from which an authenticator app makes codes (TOTP), sealed. Not asked for until `confirmed_at`. `used_steps`: times of
-- 30 seconds whose code was used. `key_sealed` is null after the master key was lost: recovery codes remain.
create table second_factor (
  person_id    integer primary key references person on delete cascade,
  key_sealed   bytea,
  used_steps   bigint[] not null default '{}',
  created_at   timestamptz not null,
  confirmed_at timestamptz
);

-- SHA-256 of the recovery codes that are left.
create table recovery_code (
  person_id integer not null references person on delete cascade,
  code_hash bytea not null,
  primary key (person_id, code_hash)
);

-- Keys of authenticators and password managers (WebAuthn). `counter`: of the authenticator, at its last use.
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

-- What a passkey is to sign, once. `person_id`: who adds a passkey; null: somebody signs in, or confirms who it is.
create table passkey_challenge (
  challenge  bytea primary key,
  token_hash bytea not null unique,
  person_id  integer references person on delete cascade,
  expires_at timestamptz not null
);
create index passkey_challenge_person on passkey_challenge (person_id);
create index passkey_challenge_expiry on passkey_challenge (expires_at);

-- Sign-ins whose password was right and whose second factor is awaited. `link_hash`: the invitation that is accepted with it.
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

-- Changes of addresses. `confirm_hash`: of the token in the letter to the new address, null once it was used; `undo_hash`: of the one
-- in the letter to the old address. `done_at`: since when the new address counts.
create table email_change (
  id              integer generated always as identity primary key,
  person_id       integer not null references person on delete cascade,
  old_email       text not null,
  new_email       text not null,
  confirm_hash    bytea unique,
  undo_hash       bytea not null unique,
  confirm_ends_at timestamptz not null,
  undo_ends_at    timestamptz not null,
  done_at         timestamptz
);
create index email_change_person on email_change (person_id);
create index email_change_end on email_change (undo_ends_at);

-- Persons as the provider of single sign-on knows them: its issuer, and the name that it never changes (`sub`).
create table sso_identity (
  issuer       text not null,
  subject      text not null,
  person_id    integer not null references person on delete cascade,
  created_at   timestamptz not null,
  last_used_at timestamptz not null,
  primary key (issuer, subject),
  unique (person_id, issuer)
);

-- Sign-ins at the provider that are under way, once each. `token_hash`: of the token in the browser's cookie. `state`, `nonce` and
-- `verifier` must match what comes back. `next`: the screen that follows. `address`: whose limit the start counts for. `session_id`:
-- the session whose person proves again who it is; null: somebody signs in.
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
