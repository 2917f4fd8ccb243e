create table domain (
  id            integer generated always as identity primary key,
  account_id    integer not null references account on delete cascade,
  custom_domain text collate "C" not null unique,
  origin_url    text not null,
  is_active     boolean not null default true,
  settings      jsonb not null default '{}',
  -- Made when IndexNow is first switched on; the key file proves the owner's consent.
  indexnow_key  text,
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now()
);
create index domain_account on domain (account_id, custom_domain);

-- A node requests `token` under the domain's name. If `answer` comes back, the name leads to this fleet.
create table reachability_check (
  domain_id  integer primary key references domain on delete cascade,
  token      text not null,
  answer     text not null,
  expires_at timestamptz not null
);

-- Headers for a domain's origin; packages/service/src/sites/origin-headers.ts. `shown`: without their values.
create table origin_header (
  domain_id  integer primary key references domain on delete cascade,
  shown      jsonb not null,
  key_sealed bytea not null
);

-- Tags in the owner's order and spelling; no two of a domain differ only in case. Apart from `domain`, which many statements
-- join: without statistics, PostgreSQL estimates the number of its rows by their width.
create table domain_tags (
  domain_id integer primary key references domain on delete cascade,
  tags      text[] not null
);

-- Settings that are copied to domains. A domain keeps no link to its template.
create table settings_template (
  id         integer generated always as identity primary key,
  account_id integer not null references account on delete cascade,
  name       text not null,
  settings   jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index settings_template_name on settings_template (account_id, lower(name));

-- Where the names of domains lead. Nodes look again when it is due; packages/service/src/sites/reachability/dns-looks.ts.
create table dns_look (
  domain_id  integer primary key references domain on delete cascade,
  state      text not null default 'not-checked',
  -- All addresses of the name, public or not.
  addresses  text[] not null default '{}',
  -- Null: never.
  checked_at timestamptz,
  -- When somebody last looked at the state.
  watched_at timestamptz not null default '-infinity'
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
create index dns_look_due on dns_look (checked_at);

-- Whether the account of a domain has proven that the name is its own; packages/service/src/sites/proof/judge-proof.ts. A
-- domain without a row was never asked, and is served.
create table domain_proof (
  domain_id  integer primary key references domain on delete cascade,
  account_id integer not null references account on delete cascade,
  state      text not null check (state in ('not-asked', 'asked', 'proven', 'lost')),
  served     boolean not null,
  reason     text check (reason in ('former', 'takeover', 'required')),
  method     text check (method in ('dns', 'file', 'meta', 'traffic', 'operator')),
  asked_at   timestamptz,
  checked_at timestamptz,
  deadline   timestamptz,
  error      text,
  missed_at  timestamptz
);
create index domain_proof_account on domain_proof (account_id);

-- Accounts that had a name, for 400 days: their DNS may still lead here. Null: an account that was deleted. `addresses`: those
-- of the name, if it led here then.
create table domain_former (
  id         integer generated always as identity primary key,
  name_hash  bytea not null,
  account_id integer references account on delete set null,
  ended_at   timestamptz not null,
  addresses  text[] not null default '{}',
  unique (name_hash, account_id)
);
create index domain_former_account on domain_former (account_id);
create index domain_former_age on domain_former (ended_at);

-- Requests of a check carry its mark. An edge that receives one notes it, so that nobody proves a name by our own answers.
create table domain_proof_mark (
  id          integer generated always as identity primary key,
  mark_hash   bytea not null unique,
  is_received boolean not null default false,
  expires_at  timestamptz not null
);
create index domain_proof_mark_expiry on domain_proof_mark (expires_at);

-- The first steps of a domain; packages/service/src/sites/checklist.ts. `done`: when each was first seen to be done.
create table domain_checklist (
  domain_id integer primary key references domain on delete cascade,
  done      jsonb not null default '{}',
  hidden_at timestamptz
);
