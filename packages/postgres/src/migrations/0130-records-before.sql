-- Records of renders get partitions of days. The table becomes the partition of all days until the one after tomorrow, without being
-- copied: 0131 checks that it has no later rows, while it is in use.
-- What PostgreSQL writes as text here does not depend on the server's settings.
set local timezone = 'UTC';
set local datestyle = 'ISO, YMD';
do $$
begin
  execute format('alter table render_record add constraint render_record_before check (ended_at < %L) not valid',
    (now() at time zone 'UTC')::date + 2 || ' 00:00+00');
end
$$;
