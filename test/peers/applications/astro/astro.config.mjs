import preact from '@astrojs/preact'
import solid from '@astrojs/solid-js'

export default {
  integrations: [preact({ include: ['**/*.preact.jsx'] }), solid({ include: ['**/*.solid.jsx'] })],
  devToolbar: { enabled: false },
}
