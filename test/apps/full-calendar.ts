import { type App, html, json, packageDir } from './app.ts'

/** A calendar built with Preact; it asks its site for the events of the month on show. */
export const fullCalendar: App = {
  name: 'full-calendar',
  framework: 'Preact',
  folders: { '/calendar/': packageDir('fullcalendar') },
  answers: {
    '/': html(`<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>Programme</title><script src="/calendar/index.global.min.js"></script></head>
  <body>
    <div id="calendar"></div>
    <script>
      document.addEventListener('DOMContentLoaded', () => {
        const target = document.getElementById('calendar')
        new FullCalendar.Calendar(target, { initialDate: '2026-03-01', events: '/events.json' }).render()
      })
    </script>
  </body>
</html>
`),
    '/events.json': json([
      { title: 'Lighthouse tour', start: '2026-03-05' },
      { title: 'Organ recital', start: '2026-03-17T19:30:00' },
    ]),
  },
  pages: [{ path: '/', texts: ['March 2026', 'Lighthouse tour', 'Organ recital'] }],
}
