import Application from '@ember/application'
import Route from '@ember/routing/route'
import EmberRouter from '@ember/routing/router'
import { template } from '@ember/template-compiler/runtime'

class Router extends EmberRouter {
  location = 'history'
  rootURL = '/'
}
// biome-ignore lint/suspicious/useIterableCallbackReturn: not the map of arrays
Router.map(function () {
  this.route('lamp', { path: '/lamp/:name' })
})

class Index extends Route {
  model = async () => (await fetch('/stock.json')).json()
}

class Lamp extends Route {
  model = ({ name }) => ({ name })
}

class App extends Application {
  modules = {
    './router': { default: Router },
    './routes/index': { default: Index },
    './routes/lamp': { default: Lamp },
    './templates/application': { default: template('<h1>Tugboats</h1>{{outlet}}') },
    './templates/index': {
      default: template(
        '{{#each @model as |lamp|}}<p>{{lamp.name}} pulls {{lamp.left}} barges</p>{{else}}No tug{{/each}}',
      ),
    },
    './templates/lamp': { default: template('<p>The tug {{@model.name}} is at sea</p>') },
    './templates/loading': { default: template('Casting off') },
  }
}
App.create()
