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
