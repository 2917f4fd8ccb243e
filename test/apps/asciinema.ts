import { type App, html, packageDir } from './app.ts'

const cast = [
  { version: 2, width: 60, height: 6 },
  [0.5, 'o', '$ make harbour\r\n'],
  [1.5, 'o', 'dredging the northern basin\r\n'],
  [2.5, 'o', 'harbour ready\r\n'],
]
  .map((line) => JSON.stringify(line))
  .join('\n')

/** A terminal player built with Solid: WebAssembly, a recording fetched, its frame at three seconds shown. */
export const asciinema: App = {
  name: 'asciinema',
  framework: 'Solid',
  folders: { '/player/': packageDir('asciinema-player', 'dist/bundle') },
  answers: {
    '/': html(`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8"><title>Recording</title>
    <link rel="stylesheet" href="/player/asciinema-player.css">
  </head>
  <body>
    <div id="player"></div>
    <script src="/player/asciinema-player.min.js"></script>
    <script>
      AsciinemaPlayer.create('/harbour.cast', document.getElementById('player'), { preload: true, poster: 'npt:3' })
    </script>
  </body>
</html>
`),
    '/harbour.cast': { type: 'application/x-asciicast', body: cast, delayMs: 30 },
  },
  pages: [{ path: '/', texts: ['dredging the northern basin', 'harbour ready'] }],
}
