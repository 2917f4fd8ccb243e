import 'swagger-ui-dist/swagger-ui.css'
import './api-reference.css'
import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js'

// color-scheme.js has chosen, as for the dashboard. The viewer knows dark mode by a class.
const { classList, dataset } = document.documentElement
classList.toggle('dark-mode', dataset['mantineColorScheme'] === 'dark')

SwaggerUI({
  dom_id: '#api-reference',
  url: '/openapi.json',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  filter: true,
  // A service of the viewer's makers: it would be told of this server's address.
  validatorUrl: null,
})
