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
create index webhook_token_ended on webhook_token (revoked_at) where revoked_at is not null;

-- The current rate-limit window of a domain's webhook, for nodes of 0.2.0. Newer nodes use `rate`; it is dropped one release
-- after 0.3.0.
create table webhook_window (
  domain_id  integer primary key references domain on delete cascade,
  started_at timestamptz not null,
  requests   integer not null
);
