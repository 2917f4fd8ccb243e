import { page, type Theme } from '../corpus-page.ts'

/** What was typed, ticked, chosen or opened lives in properties. */
export const forms: Theme = {
  'values that were typed': {
    why: 'Frameworks set the property, the attribute stays as it was.',
    document: page`<input id="a" value="old"><input id="n" type="number"><input id="r" type="range" max="10"><input id="h" type="hidden"><textarea id="t">old text</textarea><script>
          a.value = 'new "value"'; n.value = 7; r.value = 3; h.value = 'kept'; t.value = 'new </textarea> text'</script>`,
    expect: {
      reads: ['new </textarea> text'],
      readsNot: ['old'],
      has: [
        'value="new &quot;value&quot;"',
        /type="number" value="7"/,
        /type="range"[^>]* value="3"/,
        /type="hidden" value="kept"/,
      ],
    },
  },
  'details, dialogs and popovers': {
    why: 'Open or not is seen by people, and partly no attribute.',
    document: page`<details id="d"><summary>more</summary>opened text</details><dialog id="m">modal text</dialog><div popover id="p">popover text</div><script>d.open = true; m.showModal(); p.showPopover(); d.addEventListener('toggle', () => document.body.append('toggled'))</script>`,
    expect: {
      reads: ['opened text', 'modal text', 'popover text', 'toggled'],
      has: ['<details id="d" open="">', '<dialog id="m" open="">'],
    },
  },
  'bars, outputs and editable text': {
    why: 'Each keeps its value elsewhere.',
    document: page`<progress id="p" max="10"></progress><meter id="m" max="10"></meter><output id="o"></output><div contenteditable id="e"></div><button id="b">send</button><script>p.value = 4; m.value = 6; o.value = 'sum 12'; e.textContent = 'typed here'; b.disabled = true</script>`,
    expect: {
      reads: ['sum 12', 'typed here'],
      has: [/<progress[^>]* value="4"/, /<meter[^>]* value="6"/, /<button[^>]* disabled=""/],
    },
  },
  'fields that shadow the names of the document': {
    why: 'A form or image named like a property of its parent hides that property from every script.',
    document: page`<form id="f"><input name="shadowRoot" value="s"><input name="children"><input name="attributes"><input name="parentElement"><input name="removeAttribute"></form>
          <form name="documentElement"></form><form name="head"></form><form name="querySelectorAll"></form><img name="body" src="b.jpg"><form name="doctype"></form><form name="adoptedStyleSheets"></form><form name="createElement"></form><form name="evaluate"></form>
          <p>and yet a page</p><script>1</script>`,
    expect: { reads: ['and yet a page'], has: [/^<!DOCTYPE html>\n<html lang="en">/, 'name="shadowRoot"'] },
  },
}
