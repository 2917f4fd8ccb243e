-- One stored render. The body is brotli, as it is served; PostgreSQL does not compress it again.
create table page (
  domain_id            integer not null references domain on delete cascade,
  path                 text collate "C" not null,
  -- Of `PageId`: made for desktops or for phones.
  variant              text not null default 'desktop' check (variant in ('desktop', 'mobile')),
  status               smallint not null,
  headers              jsonb not null,
  body_br              bytea,
  html_bytes           integer not null,
  etag                 text not null,
  rendered_at          timestamptz not null,
  -- Made stale by an event, not by age: still served, refreshed at the next request.
  stale_since          timestamptz,
  -- The amount of text, and since when newer renders with far less are refused; packages/pages/src/queue/judging/judge-page.ts.
  text_chars           integer,
  refused_since        timestamptz,
  -- When its text last changed; null: when it was rendered.
  changed_at           timestamptz,
  -- The build of the site's application, named by packages/engine/src/render/visit/recorder.ts, and the one before it. Several pages
  -- with a new build mean a deploy: packages/pages/src/queue/upkeep/deploy.ts.
  application          text,
  previous_application text,
  -- What a rule did to its render, named by packages/runtime/src/rule-book.ts, and what that changed; empty and null: nothing.
  rule_effect          text not null default '',
  rule_changes         jsonb,
  -- The page links to Markdown of the site's own.
  own_markdown         boolean not null default false,
  -- What it says, as brotli: packages/pages/src/store/stored-reading.ts. null: stored by 0.2.0.
  reading_br           bytea,
  -- The body if it is in the object store (packages/pages/src/store/bodies/body-store.ts): the object's key without the prefix
  -- of the setting, its length, and the first 8 bytes of its SHA-256. Null: `body_br` has it.
  body_key             text collate "C",
  body_bytes           integer,
  body_sum             bytea,
  -- The key belongs to the database of which this one is a restored copy: it is read, and never condemned.
  body_foreign         boolean not null default false,
  -- Since when the body is in PostgreSQL because the store did not take it.
  body_late_at         timestamptz,
  primary key (domain_id, path, variant)
) with (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
alter table page alter column body_br set storage external;

-- The list of pages in each order. Each index ends with the path, so that a list continues after its last row, and a
-- search for part of a path reads only the index. The first one also finds expired pages.
create index page_rendered on page (domain_id, rendered_at, path) include (status, stale_since, variant);
create index page_status on page (domain_id, status, path) include (variant);
create index page_size on page (domain_id, html_bytes, path) include (variant);
create index page_application on page (domain_id, application, rendered_at) where stale_since is null;
create index page_in_store on page (domain_id) where body_key is not null;
create index page_late on page (body_late_at) where body_late_at is not null;

create table redirect (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  status    smallint not null,
  location  text not null,
  stored_at timestamptz not null,
  variant   text not null default 'desktop' check (variant in ('desktop', 'mobile')),
  primary key (domain_id, path, variant)
);
create index redirect_age on redirect (domain_id, stored_at);

create table sitemap (
  domain_id  integer not null references domain on delete cascade,
  path       text collate "C" not null,
  headers    jsonb not null,
  body       bytea not null,
  fetched_at timestamptz not null,
  primary key (domain_id, path)
);

-- Paths that crawlers requested or sitemaps list. Stored pages are known without a row here.
create table known_path (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  source    text not null check (source in ('crawler', 'sitemap')),
  seen_at   timestamptz not null,
  -- Of the sitemap's entry.
  lastmod   timestamptz,
  primary key (domain_id, path, source)
) with (autovacuum_vacuum_scale_factor = 0.02);

-- Expired rows are found by age. Paths of sitemaps expire domain by domain: without its index each run read all rows
-- (a second for half a million), and with fifteen million it was cut off and removed nothing.
create index known_path_crawler on known_path (seen_at) where source = 'crawler';
create index known_path_sitemap on known_path (domain_id, seen_at) where source = 'sitemap';

-- The last crawler of each page that was served. Not in `page`: it outlives a refresh, and an edge that notes visits
-- never waits for a page that is being stored or purged. packages/pages/src/store/last-visits.ts.
create table last_visit (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  crawler   text not null,
  category  text not null,
  visited_at timestamptz not null,
  primary key (domain_id, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index last_visit_time on last_visit (domain_id, visited_at, path);

-- The outcome of the last render of each path, kept longer than its record.
create table last_render (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  outcome   text collate "C" not null,
  ended_at  timestamptz not null,
  primary key (domain_id, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index last_render_outcome on last_render (domain_id, outcome, path);
create index last_render_ended on last_render (domain_id, ended_at);

-- What the last few different snapshots of a page contained, without their HTML. `facts`: JSON in brotli.
create table page_digest (
  id          bigint generated always as identity primary key,
  domain_id   integer not null references domain on delete cascade,
  path        text collate "C" not null,
  variant     text not null default 'desktop' check (variant in ('desktop', 'mobile')),
  etag        text not null,
  status      smallint not null,
  html_bytes  integer not null,
  rendered_at timestamptz not null,
  facts       bytea not null
) with (autovacuum_vacuum_scale_factor = 0.02);
alter table page_digest alter column facts set storage external;
create index page_digest_page on page_digest (domain_id, path, variant, id);
create index page_digest_age on page_digest (rendered_at);

-- A page with status 5xx is not stored, but a crawler waits for it, maybe at another node. It is kept here for a
-- minute; packages/pages/src/store/stored-page.ts. It need not survive a crash of the server.
create unlogged table unstored_page (
  job_id     uuid primary key,
  domain_id  integer not null references domain on delete cascade,
  status     smallint not null,
  headers    jsonb not null,
  body_br    bytea not null,
  html_bytes integer not null,
  etag       text not null,
  own_markdown boolean not null,
  made_at    timestamptz not null
);
alter table unstored_page alter column body_br set storage external;
create index unstored_page_domain on unstored_page (domain_id, made_at);
create index unstored_page_made on unstored_page (made_at);

-- Whether desktops and phones get the same page, for the paths that were compared; packages/pages/src/store/device-pages.ts.
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

-- Pages whose last render was refused, such as soft 404s: they pass without a render until `refused_at` and the wait.
-- packages/pages/src/store/refused-pages.ts.
create table refused_page (
  domain_id    integer not null references domain on delete cascade,
  -- The domain's account: its pages share a limit.
  account_id   integer not null,
  path         text collate "C" not null,
  variant      text not null check (variant in ('desktop', 'mobile')),
  -- As in `page`: another rule may render the page.
  rule_effect  text not null,
  outcome      text not null,
  refused_at   timestamptz not null,
  wait_seconds integer not null,
  primary key (domain_id, path, variant, rule_effect)
) with (autovacuum_vacuum_scale_factor = 0.02);
create index refused_page_account on refused_page (account_id, refused_at);

-- The object store that has the bodies of pages, if any: PREPAINT_BODIES. packages/pages/src/store/bodies/body-store.ts.
create table body_store (
  is_only   boolean primary key default true check (is_only),
  -- Also stands in the store, in the object `prepaint-store`.
  id        text not null,
  -- Where nodes put new bodies: "prepaint bodies move" sets it.
  direction text not null default 'store' check (direction in ('store', 'database'))
);

-- Keys of objects that no row has. Until `at` a key is reserved: its object is being written. Afterwards it is condemned,
-- and the sweeper deletes its object.
create table body_gone (
  key text collate "C" primary key,
  at  timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0.02);
create index body_gone_at on body_gone (at);
