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

-- Whether desktops and phones get the same page, for the paths that were compared; packages/contract/src/settings/devices.ts.
create table device_page (
  domain_id    integer not null references domain on delete cascade,
  path         text collate "C" not null,
  -- Since then each page for phones is compared, until one could be.
  requested_at timestamptz not null default now(),
  -- The last comparison; null: none yet.
  checked_at   timestamptz,
  differences  text[] not null default '{}',
  primary key (domain_id, path)
);

-- Headers for a domain's origin; packages/service/src/sites/origin-headers.ts. `shown`: without their values.
create table origin_header (
  domain_id  integer primary key references domain on delete cascade,
  shown      jsonb not null,
  key_sealed bytea not null
);
