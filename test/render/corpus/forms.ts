import { page, type Theme } from '../corpus-page.ts'

/** What was typed, ticked, chosen or opened lives in properties. */
export const forms: Theme = {
  name: 'forms',
  pages: [
    {
      name: 'values that were typed',
      why: 'Frameworks set the property, the attribute stays as it was.',
      routes: {
        '': page(`<input id="a" value="old"><input id="n" type="number"><input id="r" type="range" max="10"><input id="h" type="hidden"><textarea id="t">old text</textarea><script>
          a.value = 'new "value"'; n.value = 7; r.value = 3; h.value = 'kept'; t.value = 'new </textarea> text'</script>`),
      },
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
    {
      name: 'boxes that were ticked',
      why: 'checked is a property; so is its absence.',
      routes: {
        '': page(
          `<input type="checkbox" id="a"><input type="checkbox" id="b" checked><input type="radio" name="r" id="c" checked><input type="radio" name="r" id="d"><script>a.checked = true; b.checked = false; d.checked = true</script>`,
        ),
      },
      expect: { has: [/id="a" checked=""/, /id="b">/, /id="c">/, /id="d" checked=""/] },
    },
    {
      name: 'options that were chosen',
      why: 'One of a list, and several of another.',
      routes: {
        '': page(
          `<select id="one"><option>a<option selected>b<option>c</select><select id="many" multiple><option>d<option>e<option>f</select><script>one.value = 'c'; many.options[0].selected = many.options[2].selected = true</script>`,
        ),
      },
      expect: {
        has: [
          /<option>b<\/option><option selected="">c/,
          /<option selected="">d<\/option><option>e<\/option><option selected="">f/,
        ],
      },
    },
    {
      name: 'fields that must not be told',
      why: 'A password is private.',
      routes: {
        '': page(`<p>sign in</p><input type="password" id="p"><script>p.value = 'opensesame'</script>`),
      },
      expect: { reads: ['sign in'], hasNot: ['opensesame'] },
    },
    {
      name: 'details, dialogs and popovers',
      why: 'Open or not is seen by people, and partly no attribute.',
      routes: {
        '': page(
          `<details id="d"><summary>more</summary>opened text</details><dialog id="m">modal text</dialog><div popover id="p">popover text</div><script>d.open = true; m.showModal(); p.showPopover(); d.addEventListener('toggle', () => document.body.append('toggled'))</script>`,
        ),
      },
      expect: {
        reads: ['opened text', 'modal text', 'popover text', 'toggled'],
        has: ['<details id="d" open="">', '<dialog id="m" open="">'],
      },
    },
    {
      name: 'bars, outputs and editable text',
      why: 'Each keeps its value elsewhere.',
      routes: {
        '': page(
          `<progress id="p" max="10"></progress><meter id="m" max="10"></meter><output id="o"></output><div contenteditable id="e"></div><button id="b">send</button><script>p.value = 4; m.value = 6; o.value = 'sum 12'; e.textContent = 'typed here'; b.disabled = true</script>`,
        ),
      },
      expect: {
        reads: ['sum 12', 'typed here'],
        has: [/<progress[^>]* value="4"/, /<meter[^>]* value="6"/, /<button[^>]* disabled=""/],
      },
    },
    {
      name: 'fields that shadow the names of the document',
      why: 'A form or image named like a property of its parent hides that property from every script.',
      routes: {
        '': page(`<form id="f"><input name="shadowRoot" value="s"><input name="children"><input name="attributes"><input name="parentElement"><input name="removeAttribute"></form>
          <form name="documentElement"></form><form name="head"></form><form name="querySelectorAll"></form><img name="body" src="b.jpg"><form name="doctype"></form><form name="adoptedStyleSheets"></form><form name="createElement"></form><form name="evaluate"></form>
          <p>and yet a page</p><script>1</script>`),
      },
      expect: { reads: ['and yet a page'], has: [/^<!DOCTYPE html>\n<html lang="en">/, 'name="shadowRoot"'] },
    },
  ],
}
