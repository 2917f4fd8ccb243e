import { existsSync } from 'node:fs'
import path from 'node:path'

const packages = path.resolve(import.meta.dirname, '../node_modules/ember-source/dist/prod/packages')
const files = (id) => [`${id}/index.js`, `${id}.js`].map((file) => path.join(packages, file))

export default {
  plugins: [
    {
      name: 'ember',
      enforce: 'pre',
      resolveId: (id) => (id.startsWith('@') ? files(id).find(existsSync) : undefined),
    },
  ],
}
