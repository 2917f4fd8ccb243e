-- A page that says itself that it is an error of the moment (5xx): never stored as a page, and yet somebody waits for
-- it, maybe at another node. It lies here for a minute; src/queue/judging/unstored.ts. Need not survive the server.
create unlogged table unstored_page (
  job_id     uuid primary key references job on delete cascade,
  domain_id  integer not null references domain on delete cascade,
  status     smallint not null,
  headers    jsonb not null,
  body_br    bytea not null,
  html_bytes integer not null,
  etag       text not null,
  made_at    timestamptz not null
);
alter table unstored_page alter column body_br set storage external;
create index unstored_page_domain on unstored_page (domain_id, made_at);
create index unstored_page_made on unstored_page (made_at);

-- How a domain's site looks where there is no page; src/queue/judging/soft-404.ts. finding: null until the first probe has
-- ended, and kept while the next one is under way.
create table probe (
  domain_id  integer primary key references domain on delete cascade,
  -- The job that is this domain's probe, for as long as it is open; the row of the job may be gone.
  job_id     uuid,
  asked_at   timestamptz not null,
  -- From when on it is asked for again, and from when on if the application has changed.
  renew_at   timestamptz not null,
  patient_to timestamptz not null,
  finding    jsonb
);
create index probe_job on probe (job_id);
