import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type App, html, packageDir } from './app.ts'

const dir = packageDir('swagger-ui-dist')
const example = (file: string) => readFileSync(path.join(packageDir('@readme/oas-examples'), file), 'utf8')

/** The settings file of the package points at a public site: its owner replaces that address, as everybody does. */
const initializer = readFileSync(path.join(dir, 'swagger-initializer.js'), 'utf8').replace(
  'https://petstore.swagger.io/v2/swagger.json',
  '/openapi.json',
)

/** 80 paths and half a megabyte of OpenAPI, fetched and resolved in the browser. */
export const swaggerUi: App = {
  name: 'swagger-ui',
  framework: 'React',
  folders: { '/': dir },
  answers: {
    '/': html(readFileSync(path.join(dir, 'index.html'), 'utf8')),
    '/swagger-initializer.js': { type: 'text/javascript', body: initializer },
    '/openapi.json': { type: 'application/json', body: example('3.0/json/star-trek.json'), delayMs: 30 },
  },
  pages: [{ path: '/', texts: ['STAPI', 'AstronomicalObject', '/spacecraftClass', '/weapon'] }],
}
