-- What has outlived its time is found by age, without reading what has not; src/store/remove-expired.ts.
create index page_age on page (domain_id, rendered_at);
create index redirect_age on redirect (domain_id, stored_at);
create index known_path_asked on known_path (seen_at) where source = 'asked';

-- Large tables that change all the time: a fifth of them dead, the default, would be millions of rows.
alter table page set (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
alter table known_path set (autovacuum_vacuum_scale_factor = 0.02);
alter table render_record set (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
