-- What owners changed, the last 20 of each kind. The newest robots.txt and list of redirects are the ones in force;
-- policy and rules are in force as settings of the domain. packages/pages/src/site-files/versions.ts.
create table site_version (
  id         integer generated always as identity primary key,
  domain_id  integer not null references domain on delete cascade,
  kind       text not null check (kind in ('robots', 'redirects', 'policy', 'rules')),
  content    json not null,
  author     text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index site_version_newest on site_version (domain_id, kind, id);

-- How often each redirect was used; `path` is its normalised `from`.
create table redirect_use (
  domain_id    integer not null references domain on delete cascade,
  path         text collate "C" not null,
  hits         bigint not null,
  last_used_at timestamptz not null,
  primary key (domain_id, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- The origin's robots.txt as it was last fetched or passed on; it is served for a day while the origin fails.
create table origin_robots (
  domain_id  integer primary key references domain on delete cascade,
  -- The origin that gave it: host and port.
  origin     text not null,
  text       text not null,
  fetched_at timestamptz not null
);

-- What a generated sitemap says of a page. A row survives purges and the page's expiry. packages/pages/src/site-files/page-facts.ts.
create table page_fact (
  domain_id   integer not null references domain on delete cascade,
  path        text collate "C" not null,
  -- SHA-256 of title, description and text.
  text_hash   bytea not null,
  changed_at  timestamptz not null,
  rendered_at timestamptz not null,
  -- Indexable, and stored with status 200.
  is_listed   boolean not null,
  -- When it appeared, changed or went; null: search engines have been told, or are not to be.
  untold_at   timestamptz,
  -- A redirect began or ceased to cover it: told although no sitemap may list it now.
  is_covered  boolean not null default false,
  primary key (domain_id, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index page_fact_listed on page_fact (domain_id, path) include (changed_at, rendered_at) where is_listed;
create index page_fact_untold on page_fact (domain_id, untold_at) where untold_at is not null;

-- The last batch of a domain. A node sends under a lease: until `next_at` no other one does.
create table indexnow_state (
  domain_id     integer primary key references domain on delete cascade,
  next_at       timestamptz not null,
  sent_at       timestamptz,
  -- The answer; null: none came.
  status        smallint,
  failing_since timestamptz
) with (fillfactor = 50);
