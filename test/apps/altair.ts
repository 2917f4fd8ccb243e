import { renderAltair } from 'altair-static'
import { type App, html, json, packageDir } from './app.ts'

/** A GraphQL client built with Angular: its own storage, workers and dozens of module files. */
export const altair: App = {
  name: 'altair',
  framework: 'Angular',
  folders: { '/': packageDir('altair-static', 'build/dist') },
  answers: {
    '/': html(renderAltair({ baseURL: '/', endpointURL: '/graphql', initialQuery: '{ lighthouses }' })),
    // It asks for the schema at once; many servers refuse that.
    '/graphql': json({ errors: [{ message: 'introspection is not allowed' }] }),
  },
  pages: [
    {
      path: '/',
      texts: ['altair.example/graphql', 'Set Headers', 'Send Request', 'Refactor Query', 'Response headers'],
    },
  ],
}
