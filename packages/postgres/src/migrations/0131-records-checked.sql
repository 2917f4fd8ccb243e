alter table render_record validate constraint render_record_before;
