-- Who takes care of an incident: no reminders of it are sent any more.
create table incident_acknowledged (
  incident_id     bigint primary key references incident on delete cascade,
  acknowledged_by text not null,
  acknowledged_at timestamptz not null default clock_timestamp(),
  note            text
);
