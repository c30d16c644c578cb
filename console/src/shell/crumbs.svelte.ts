/** The words of the last step of the breadcrumb; a page sets them when it knows its subject. */

class Crumbs {
  subject = $state('');
}

export const crumbs = new Crumbs();
