(class_declaration name: (identifier) @name) @class
(new_expression constructor: (identifier) @call)
