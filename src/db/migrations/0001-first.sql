-- Names follow the glossary. Times are timestamptz, months are the first day of the UTC month.
-- Paths and names are ordered byte by byte on every server, so that lists are read off an index.

create table account (
  id            integer generated always as identity primary key,
  email         text not null unique check (email = lower(email)),
  plan          text not null,
  password_hash text,
  created_at    timestamptz not null default now()
);

create table domain (
  id            integer generated always as identity primary key,
  account_id    integer not null references account on delete cascade,
  custom_domain text collate "C" not null unique,
  origin_url    text not null,
  ssl_enabled   boolean not null default false,
  is_active     boolean not null default true,
  settings      jsonb not null default '{}',
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now()
);
create index domain_account on domain (account_id, custom_domain);

-- The raw key exists only in the answer that created it.
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

create table webhook_token (
  id           integer generated always as identity primary key,
  domain_id    integer not null references domain on delete cascade,
  name         text not null,
  token_hash   bytea not null unique,
  hint         text not null,
  created_at   timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at   timestamptz
);
create index webhook_token_domain on webhook_token (domain_id);

-- One row a domain: the window that its first request opened.
create table webhook_window (
  domain_id  integer primary key references domain on delete cascade,
  started_at timestamptz not null,
  requests   integer not null
);

create table render_count (
  domain_id integer not null references domain on delete cascade,
  month     date not null,
  renders   integer not null default 0,
  primary key (domain_id, month)
);

-- One stored render. The body is brotli as it is served; nothing compresses it again.
create table page (
  domain_id    integer not null references domain on delete cascade,
  path         text collate "C" not null,
  status       smallint not null,
  headers      jsonb not null,
  body_br      bytea not null,
  html_bytes   integer not null,
  etag         text not null,
  rendered_at  timestamptz not null,
  -- When an event (not age) made it stale: served on, refreshed at the next request.
  stale_since  timestamptz,
  primary key (domain_id, path)
);
alter table page alter column body_br set storage external;

create table redirect (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  status    smallint not null,
  location  text not null,
  stored_at timestamptz not null,
  primary key (domain_id, path)
);

create table sitemap (
  domain_id  integer not null references domain on delete cascade,
  path       text collate "C" not null,
  headers    jsonb not null,
  body       bytea not null,
  fetched_at timestamptz not null,
  primary key (domain_id, path)
);

-- Paths that crawlers asked for or sitemaps named. Stored pages are known without a row here.
create table known_path (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  source    text not null check (source in ('asked', 'sitemap')),
  seen_at   timestamptz not null,
  primary key (domain_id, path, source)
);

-- priority: 0 live, 1 refresh, 2 warm. turn: virtual time inside a priority, so that domains take turns.
create table job (
  id          uuid primary key default gen_random_uuid(),
  domain_id   integer not null references domain on delete cascade,
  path        text collate "C" not null,
  priority    smallint not null,
  state       text not null default 'queued'
              check (state in ('queued', 'running', 'done', 'failed', 'cancelled')),
  turn        bigint not null,
  run_at      timestamptz not null default now(),
  -- Counts the claims: together with the node it is the fence against late results.
  attempts    integer not null default 0,
  -- Crashes, and nodes that died over it. Too many end it.
  faults      smallint not null default 0,
  node        text,
  lease_until timestamptz,
  -- A purge or refresh came while it ran: what it brings is dropped and it runs again.
  superseded  boolean not null default false,
  outcome     text,
  detail      text,
  created_at  timestamptz not null default now(),
  started_at  timestamptz,
  finished_at timestamptz
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- One open job a page: asking again joins it.
create unique index job_open on job (domain_id, path) where state in ('queued', 'running');
create index job_claim on job (priority, turn, id) where state = 'queued';
-- What one domain has waiting in one priority: its first, its last, how many.
create index job_line on job (priority, domain_id, turn, id) where state = 'queued';
create index job_running on job (domain_id) where state = 'running';
create index job_finished on job (finished_at) where finished_at is not null;
-- For the deletion of a domain, which takes finished jobs too.
create index job_domain on job (domain_id);
