import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { Component, type ReactNode } from 'react'

import { messageOf } from '../api/request.ts'
import { ROUTES } from '../route-map.ts'

type Props = { children: ReactNode }

/** Replaces a screen that failed: by a defect, or because an upgrade removed its script. */
export class ErrorBoundary extends Component<Props, { error: unknown }> {
  override state = { error: null as unknown }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (error === null) return this.props.children
    const isOld = /dynamically imported module|importing a module script|preload/i.test(messageOf(error))
    return (
      <Alert
        color="red"
        role="alert"
        title={isOld ? 'A newer version is available' : 'This screen could not be shown'}
      >
        <Stack gap="sm">
          <Text size="sm">
            {isOld
              ? 'The dashboard was upgraded after you opened it. Reload it; everything you saved is kept.'
              : 'Your data is unchanged. Reload the page. If the error stays, report it to the operator:'}
          </Text>
          {!isOld && (
            <Text size="sm" ff="monospace" className="break">
              {messageOf(error)}
            </Text>
          )}
          <Group>
            <Button size="xs" onClick={() => location.reload()}>
              Reload
            </Button>
            <Button size="xs" variant="default" onClick={() => location.assign(ROUTES.domains)}>
              Go to your domains
            </Button>
          </Group>
        </Stack>
      </Alert>
    )
  }
}
