import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { Component, type ReactNode } from 'react'

import { messageOf } from '../api/request.ts'

type Props = { children: ReactNode }

/**
 * What is shown where a screen could not be drawn: by a fault of ours, or
 * because a piece of an older version is not on the server any more.
 */
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
        title={isOld ? 'There is a newer version' : 'This screen could not be shown'}
      >
        <Stack gap="sm">
          <Text size="sm">
            {isOld
              ? 'The dashboard has been upgraded since you opened it. Load it anew; what you have saved is there.'
              : 'Nothing of yours was changed by it. Load it anew; if that does not help, tell the operator what stands here:'}
          </Text>
          {!isOld && (
            <Text size="sm" ff="monospace" className="break">
              {messageOf(error)}
            </Text>
          )}
          <Group>
            <Button size="xs" onClick={() => location.reload()}>
              Load it anew
            </Button>
            <Button size="xs" variant="default" onClick={() => location.assign('/domains')}>
              Go to your domains
            </Button>
          </Group>
        </Stack>
      </Alert>
    )
  }
}
