-- What was changed in an account, and by whom. Rows are only added; triggers in functions.sql refuse everything else. The actor
-- is text without a foreign key, since `set null` would be a change.
create table audit_entry (
  id         bigint generated always as identity primary key,
  account_id integer not null references account on delete cascade,
  at         timestamptz not null default clock_timestamp(),
  actor_kind text not null,
  actor_id   integer,
  actor_name text not null,
  way        text,
  address    text,
  user_agent text,
  action     text not null,
  domain     text,
  target     text,
  details    jsonb not null default '{}',
  request_id text
);
create index audit_entry_account on audit_entry (account_id, id);
create index audit_entry_age on audit_entry (at);

-- How long entries are kept: one row, which each start of a node writes. Without it nothing can be deleted.
create table audit_retention (
  is_only boolean primary key default true check (is_only),
  days    integer not null check (days between 30 and 3650)
);

-- Ids of the accounts that a session has entered: each first entry is recorded.
alter table session add column entered integer[] not null default '{}';
