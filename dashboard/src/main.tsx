import './zod-without-eval.ts'
import './styles.ts'

import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { newQueryClient } from './api/queries.ts'
import { renewals } from './api/request.ts'
import { App } from './app.tsx'
import { guardedNavigation } from './parts/leaving.ts'
import { DatabaseBanner } from './shell/database-banner.tsx'
import { ErrorBoundary } from './shell/error-boundary.tsx'
import { theme } from './theme.ts'

const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no #root')

renewals.join(new BroadcastChannel('prepaint-session'))

// The content security policy forbids style elements; vite.config.ts puts Mantine's styles into the style sheet.
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <QueryClientProvider client={newQueryClient()}>
        <Notifications position="bottom-right" />
        <DatabaseBanner />
        <Router aroundNav={guardedNavigation}>
          <ErrorBoundary isAlone>
            <App />
          </ErrorBoundary>
        </Router>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
