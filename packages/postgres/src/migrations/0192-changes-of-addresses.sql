-- Changes of the addresses of persons, which the old address can undo.
create table email_change (
  id              integer generated always as identity primary key,
  person_id       integer not null references person on delete cascade,
  old_email       text not null,
  new_email       text not null,
  confirm_hash    bytea unique,
  undo_hash       bytea not null unique,
  confirm_ends_at timestamptz not null,
  undo_ends_at    timestamptz not null,
  done_at         timestamptz
);
create index email_change_person on email_change (person_id);
create index email_change_end on email_change (undo_ends_at);
