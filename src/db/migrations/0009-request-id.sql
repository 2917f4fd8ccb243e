-- The live request that a job was first queued for, and its render made for: what a log and an answer call it.
alter table job add column request_id text;
alter table render_record add column request_id text;
