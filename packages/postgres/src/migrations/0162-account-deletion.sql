-- Accounts can be deleted by their owners; fronts that still send their keys open.
alter table account add column deletion_requested_at timestamptz;
alter table account add column deletes_at timestamptz;
create index account_deletion on account (deletes_at) where deletes_at is not null;
create table ended_api_key (
  id       integer generated always as identity primary key,
  key_hash bytea not null unique,
  ended_at timestamptz not null
);
create index ended_api_key_age on ended_api_key (ended_at);
