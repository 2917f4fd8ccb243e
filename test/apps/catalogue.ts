import { altair } from './altair.ts'
import { apiViewer } from './api-viewer.ts'
import type { App } from './app.ts'
import { asciinema } from './asciinema.ts'
import { bullBoard } from './bull-board.ts'
import { docute } from './docute.ts'
import { fullCalendar } from './full-calendar.ts'
import { jsonEditor } from './json-editor.ts'
import { swaggerUi } from './swagger-ui.ts'
import { buildTideTable } from './tide-table.ts'
import { buildViteInspect } from './vite-inspect.ts'

/** All applications, over eight frameworks: React, Vue 2 and 3, Angular, Svelte 3 and 5, Preact, Solid, Lit. `dir`: an empty folder for what has to be generated. */
export async function openCatalogue(dir: string): Promise<readonly App[]> {
  return [
    swaggerUi,
    bullBoard,
    altair,
    await buildViteInspect(dir),
    docute,
    jsonEditor,
    await buildTideTable(dir),
    fullCalendar,
    asciinema,
    apiViewer,
  ]
}
