-- A site token stands in the configuration of a site's front. Only its hash is stored. It survives its domain and its
-- account for some time, so that fronts that still send it get a refusal on which they open.
create table site_token (
  id           integer generated always as identity primary key,
  account_id   integer references account on delete set null,
  -- Null: the domain was deleted.
  domain_id    integer references domain on delete set null,
  token_hash   bytea not null unique,
  created_at   timestamptz not null,
  created_by   text not null,
  last_used_at timestamptz,
  -- Null: valid. A later time: a newer token has replaced it.
  ends_at      timestamptz
);
create index site_token_domain on site_token (domain_id);
create index site_token_account on site_token (account_id);
create index site_token_ended on site_token (ends_at) where ends_at is not null;

-- API keys of deleted accounts, without whose they were: fronts that still send them get a refusal on which they open.
create table ended_api_key (
  id       integer generated always as identity primary key,
  key_hash bytea not null unique,
  ended_at timestamptz not null
);
create index ended_api_key_age on ended_api_key (ended_at);

-- The newest crawler's request by each way: `proxy` (DNS or a front sends the request itself) or `middleware` (a front asks
-- for the page).
create table integration_way (
  domain_id   integer not null references domain on delete cascade,
  way         text not null check (way in ('proxy', 'middleware')),
  first_at    timestamptz not null,
  last_at     timestamptz not null,
  crawler     text not null,
  path        text not null,
  int_type    text,
  int_version text,
  primary key (domain_id, way)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

create table integration_visits (
  domain_id integer not null references domain on delete cascade,
  way       text not null check (way in ('proxy', 'middleware')),
  hour      timestamptz not null,
  visits    bigint not null,
  primary key (domain_id, way, hour)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
create index integration_visits_hour on integration_visits (hour);

-- Requests for a domain that were refused for a key of its own account, by minute.
create table integration_refusal (
  domain_id integer not null references domain on delete cascade,
  reason    text not null,
  minute    timestamptz not null,
  count     integer not null,
  last_at   timestamptz not null,
  primary key (domain_id, minute, reason)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
create index integration_refusal_minute on integration_refusal (minute);

-- A request that was sent to the site as a crawler, and how it arrived. Any node may receive it.
create table integration_check (
  token_hash  bytea primary key,
  domain_id   integer not null references domain on delete cascade,
  expires_at  timestamptz not null,
  way         text check (way in ('proxy', 'middleware')),
  int_type    text,
  int_version text,
  refused     text
);
create index integration_check_domain on integration_check (domain_id);
create index integration_check_expiry on integration_check (expires_at);

-- The newest check.
create table integration_result (
  domain_id integer primary key references domain on delete cascade,
  result    jsonb not null
);

-- The key of the identifiers that fronts see of accounts.
create table front_secret (
  is_only boolean primary key default true check (is_only),
  key     text not null
);
